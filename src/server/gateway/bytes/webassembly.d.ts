/** The used part of the WebAssembly API: Node.js has it, but declares it only in the types of browsers. */
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
    /** Adds pages of 64 KiB. */
    grow(pages: number): number
  }
}
