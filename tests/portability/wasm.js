// SPDX-License-Identifier: MIT
// node wasm.js PROGRAM.wasm: runs portable().
const bytes = require("fs").readFileSync(process.argv[2]);
let memory;
const put = (at) => {
    const text = new Uint8Array(memory.buffer, at);
    process.stdout.write(Buffer.from(text.subarray(0, text.indexOf(0))));
};
WebAssembly.instantiate(bytes, { env: { put } }).then(({ instance }) => {
    memory = instance.exports.memory;
    process.exitCode = instance.exports.portable();
});
