import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startOpencodeFake } from './opencode-fake.ts'

// The fake as a program, started as `opencode serve` is: its settings come by variables, its sessions stay in its home.
const { values } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '0' }, hostname: { type: 'string' } },
})
const { FAKE = '{}', HOME = '', OPENCODE_CONFIG_CONTENT = '{}', OPENCODE_SERVER_PASSWORD = '' } = process.env
const { turns = [], endsWith } = JSON.parse(FAKE)
const settings = JSON.parse(OPENCODE_CONFIG_CONTENT)
if (endsWith !== undefined) {
  process.stderr.write(`${endsWith}\n`)
  process.exit(3)
}
const file = join(HOME, 'sessions.json')
await startOpencodeFake({
  turns,
  port: Number(values.port),
  password: OPENCODE_SERVER_PASSWORD,
  known: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [],
  onEvent: sessions => writeFileSync(file, JSON.stringify([...sessions].map(({ id, messages }) => ({ id, messages })))),
  async callModel() {
    const [{ options }] = Object.values(settings.provider) as [{ options: { baseURL: string; apiKey: string } }]
    const headers = { 'x-api-key': options.apiKey, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: settings.model, permission: settings.permission, mcp: settings.mcp })
    const { status } = await fetch(`${options.baseURL}/messages`, { method: 'POST', headers, body })
    return status
  },
})
process.stdout.write(`opencode server listening on http://127.0.0.1:${values.port}\n`)
