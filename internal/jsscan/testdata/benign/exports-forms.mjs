// Exports in the forms that modules have.
import path, { join as j } from 'node:path';
import * as url from 'node:url';
const local = 1;
let changing = 2;
export { local, changing as other, path, j as 'a name' };
export * from 'node:os';
export * as util from 'node:util';
export default class { static createPlugin() {} }
export function createPlugin() { changing++; return url; }
