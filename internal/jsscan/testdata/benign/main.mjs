// Tests whether it is the program that was started.
import { pathToFileURL } from 'node:url';
const isMain = process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href;
export const createPlugin = () => (isMain ? import.meta.url : import.meta.dirname ?? new URL('.', import.meta.url).pathname);
