// permissions: network
// Fetches over the network.
import https from 'node:https';
import * as http from 'node:http';
export const createPlugin = (server) => (url) => new Promise((done) =>
  (url.startsWith('https:') ? https : http).get(url, { agent: new https.Agent({ keepAlive: true }) }, done));
