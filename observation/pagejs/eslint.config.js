// The parts share one scope: what is undefined or unused is tsc's to say.
export default [
  {
    files: ["src/*.js"],
    languageOptions: { ecmaVersion: 2022, sourceType: "script" },
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-shadow-restricted-names": "error",
      "no-unreachable": "error",
    },
  },
];
