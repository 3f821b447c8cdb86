import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import createWabt from 'wabt'

/** Where the sources of WebAssembly and their output are. */
export const folder = join(import.meta.dirname, '..', 'src', 'server', 'gateway', 'bytes')

/** The binary form of `<name>.wat`. */
export async function assembled(name: string): Promise<Uint8Array> {
  const { parseWat } = await createWabt()
  const module = parseWat(`${name}.wat`, readFileSync(join(folder, `${name}.wat`), 'utf8'), { simd: true })
  try {
    return module.toBinary({}).buffer
  } finally {
    module.destroy()
  }
}
