// Assembles the WebAssembly of the gateway anew: `npm run wasm`. Decision 0008.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assembled, folder } from './assembled.ts'

const bytes = await assembled('json-strings')
writeFileSync(join(folder, 'json-strings.wasm'), bytes)
process.stdout.write(`json-strings.wasm: ${bytes.length} bytes\n`)
