/** As much of the JavaScript API as is used here: Node.js has it, but its types leave it to those of browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: unknown
  }
  interface Memory {
    readonly buffer: ArrayBuffer
    /** By so many pages of 64 KiB. */
    grow(pages: number): number
  }
}
