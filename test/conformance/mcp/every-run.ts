import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMcpApp } from '../../support/mcp/mcp-app.ts'
import { startLegacyConformanceServer } from './legacy-server.ts'
import { startModernConformanceServer } from './modern-server.ts'
import { differencesOf, type Outcomes, type Run, reasonFor } from './outcomes.ts'

const app = await startMcpApp({ anonymous: 'ana' })
const [legacy, modern] = await Promise.all([startLegacyConformanceServer(), startModernConformanceServer()])
await app.registered({ server_name: 'legacy', url: legacy })
await app.registered({ server_name: 'modern', url: modern })
const require = createRequire(import.meta.url)

const suites = {
  '0.1.16': ['@modelcontextprotocol/conformance-0', []],
  '2025-11-25': ['@modelcontextprotocol/conformance', ['--requirements', '2025-11-25']],
  '2026-07-28': ['@modelcontextprotocol/conformance', ['--requirements', '2026-07-28']],
} as const

/** Runs a suite on an address; what every check of every scenario said. */
async function outcomesOf(suite: keyof typeof suites, url: string): Promise<Outcomes> {
  const [name, options] = suites[suite]
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-mcp-conformance-'))
  try {
    const program = require.resolve(`${name}/dist/index.js`)
    const args = [program, 'server', '--url', url, ...options, '--output-dir', folder]
    // It exits with 1 when a check fails, which is for the comparison to judge.
    await new Promise<void>(
      resolve => void execFile(process.execPath, args, { cwd: folder, maxBuffer: 1e9 }, () => resolve()),
    )
    const scenarios = (await readdir(folder)).filter(each => each.startsWith('server-'))
    assert.ok(scenarios.length > 20, `${suite} examined ${scenarios.length} scenarios only`)
    const entries = scenarios.map(async each => {
      const scenario = each.replace(/-\d{4}-\d\d-\d\dT.*$/, '').replace(/^server-/, '')
      const checks = JSON.parse(await readFile(join(folder, each, 'checks.json'), 'utf8')) as Outcomes[string]
      return [scenario, checks] as const
    })
    return Object.fromEntries(await Promise.all(entries))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The server of a run, and that against which its outcomes are compared: the same one directly, or of the other era. */
const runs = [
  { suite: '0.1.16', pair: 'legacy server', from: legacy, through: 'legacy' },
  { suite: '2025-11-25', pair: 'legacy server', from: legacy, through: 'legacy' },
  { suite: '2026-07-28', pair: 'modern server', from: modern, through: 'modern' },
  { suite: '2025-11-25', pair: 'modern server, bridged', from: legacy, through: 'modern' },
  { suite: '2026-07-28', pair: 'legacy server, bridged', from: modern, through: 'legacy' },
] as const

for (const { suite, pair, from, through } of runs) {
  test(`${suite} gives through the proxy what it gives direct: ${pair}`, async context => {
    const direct = await outcomesOf(suite, from)
    const proxied = await outcomesOf(suite, `${app.url}/mcp/${through}`)
    const run: Run = { suite, pair, direct, proxied }
    context.diagnostic(JSON.stringify(run))
    assert.deepEqual(
      differencesOf(run).filter(each => reasonFor(run, each) === undefined),
      [],
    )
  })
}
