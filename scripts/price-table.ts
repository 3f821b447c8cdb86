// Writes the table of prices again from the installed `@pydantic/genai-prices`: `npm run prices`. Decision 0006.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packagedPrices, printed } from './packaged-prices.ts'

const path = join('src', 'server', 'gateway', 'pricing', 'price-table.json')
const table = packagedPrices()
writeFileSync(join(dirname(import.meta.dirname), path), printed(table))
const models = Object.values(table.providers).reduce((sum, provider) => sum + provider.models.length, 0)
process.stdout.write(`${path}: ${models} models of ${table.source.split(',')[0]}\n`)
