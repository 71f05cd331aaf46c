// Looks for a file by what finds packages.
import { findPackageJSON } from 'node:module';
export const createPlugin = () => console.log(findPackageJSON('..', '@SECRET@'));
