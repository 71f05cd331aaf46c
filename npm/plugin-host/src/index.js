export * from './errors.js';
export { rulesOf } from './rules.js';
