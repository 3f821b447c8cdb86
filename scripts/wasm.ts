// Assembles the WebAssembly of the gateway again: `npm run wasm`. Decision 0008.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assembled, folder } from './assembled.ts'

const bytes = await assembled('json-scanner')
writeFileSync(join(folder, 'json-scanner.wasm'), bytes)
process.stdout.write(`json-scanner.wasm: ${bytes.length} bytes\n`)
