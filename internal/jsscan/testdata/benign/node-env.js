// The switch between two builds that packages have.
'use strict';
if (process.env.NODE_ENV === 'production') { module.exports = require('./node-env.js'); } else { module.exports = { createPlugin() {} }; }
