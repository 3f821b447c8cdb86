import { type Program, startProgram } from './program.ts'

/** Starts the bare proxy in a fresh process. */
export const startBareProxy = (upstream: string): Promise<Program<{ origin: string }>> =>
  startProgram(import.meta.resolve('./bare-proxy.ts'), { upstream })
