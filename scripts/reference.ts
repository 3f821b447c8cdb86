// npm run reference    writes the generated pages of docs/reference
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { referencePages } from './reference-pages.ts'

for (const [path, text] of Object.entries(await referencePages())) {
  writeFileSync(join(import.meta.dirname, '..', path), text)
  process.stdout.write(`${path}\n`)
}
