import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'coverage', '**/*.js', '**/*.cjs', '**/*.mjs'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/app/config.ts reads the environment.' },
      ],
      'no-console': 'error',
      'max-lines': ['error', { max: 350, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      complexity: ['error', 10],
    },
  },
  {
    // What stands in files, uploads and output may be anybody's: no expression takes more than linear time on any text.
    files: ['src/**/*.{ts,tsx}', 'verifiers/**/*.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignoreSticky: true }],
    },
  },
  { files: ['src/app/config.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    // An injected class must stay a value import: its constructor type is the DI token.
    files: ['src/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  // Written by `npm run client`.
  { files: ['examples/client/*.ts'], rules: { 'max-lines': 'off' } },
  {
    files: ['test/**/*.{ts,tsx}', 'scripts/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 350 }],
      'max-lines-per-function': 'off',
      'no-restricted-properties': 'off',
      'no-console': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
