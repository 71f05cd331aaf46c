// Writes a snapshot of the heap.
const v8 = require('v8');
exports.createPlugin = () => v8.writeHeapSnapshot('@MARK@');
