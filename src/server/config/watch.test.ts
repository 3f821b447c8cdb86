import assert from 'node:assert/strict'
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import type { Config } from './config.ts'
import { loadConfig } from './load.ts'
import { inForce, watchConfig } from './watch.ts'

const { folder } = configReader()
let files = 0

const models = (...names: readonly string[]): string =>
  JSON.stringify({ model_list: names.map(name => ({ model_name: name, params: { model: 'anthropic/x' } })) })

/** A watched file, the applied configurations, and the log. */
function watched(t: TestContext, { path = join(folder, `${++files}.yaml`), pollMs = 50 } = {}) {
  const env = { GATEWAY_MASTER_KEY: 'sk-a-key-of-good-length' }
  const read = () => loadConfig({ env, overrides: { configFile: path } })
  writeFileSync(path, models('a'))
  const applied: Config[] = []
  const lines: { readonly level: string; readonly fields: unknown; readonly text: unknown }[] = []
  const say = (level: string) => (fields: unknown, text?: unknown) => void lines.push({ level, fields, text })
  const log = { info: say('info'), warn: say('warn'), error: say('error') }
  const apply = (config: Config) => void applied.push(config)
  const watching = watchConfig({ path, config: read(), read, apply, log, settleMs: 20, pollMs })
  t.after(() => watching.stop())
  const names = () => applied.at(-1)?.deployments.map(({ alias }) => alias)
  return { path, applied, lines, names, watching }
}

test('a changed file is applied once, even if it was written in several steps', async t => {
  const { path, applied, names } = watched(t)
  for (const text of ['', 'model_', models('a'), models('a', 'b')]) writeFileSync(path, text)
  await eventually(() => names()?.includes('b'))
  assert.equal(applied.length, 1)
})

test('a replaced file is applied, and so is the next one', async t => {
  const { path, names } = watched(t)
  for (const name of ['b', 'c']) {
    writeFileSync(`${path}.new`, models(name))
    renameSync(`${path}.new`, path)
    await eventually(() => names()?.includes(name))
  }
})

test('a link that changes its target, as in mounted volumes, is applied', async t => {
  const real = join(folder, 'real-1')
  const path = join(folder, 'linked.yaml')
  writeFileSync(real, models('a'))
  symlinkSync(real, path)
  const { names } = watched(t, { path })
  writeFileSync(join(folder, 'real-2'), models('b'))
  unlinkSync(path)
  symlinkSync(join(folder, 'real-2'), path)
  await eventually(() => names()?.includes('b'))
})

test('an invalid file is rejected as a whole with all problems in one log line; the next valid one is applied', async t => {
  const { path, applied, lines, names } = watched(t)
  writeFileSync(path, 'demoo: true\nlimits: {max_streams: 0}\n')
  await eventually(() => lines.length > 0)
  assert.equal(applied.length, 0)
  const [line] = lines
  assert.match(String(line?.text), /invalid configuration; keeping the previous one/)
  assert.deepEqual(line?.fields, {
    problems: [
      `${path}:1: unknown key demoo; did you mean demo?`,
      `${path}:2: limits.max_streams must be a whole number of 1 or more`,
    ],
  })
  writeFileSync(path, models('b'))
  await eventually(() => names()?.includes('b'))
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
})

test('settings that need a restart are logged without their values; the others are applied', async t => {
  const { path, lines, names } = watched(t)
  const secret = 'sk-a-new-key-of-good-length'
  writeFileSync(
    path,
    `general_settings: {master_key: ${secret}}\nlimits: {max_sessions: 7}\nmodel_list: [{model_name: b, params: {model: anthropic/x}}]\n`,
  )
  await eventually(() => names()?.includes('b'))
  const warning = lines.find(({ level }) => level === 'warn')
  assert.deepEqual(warning?.fields, { settings: ['general_settings.master_key', 'limits.max_sessions'] })
  assert.ok(!JSON.stringify(lines).includes(secret))
})

test('reload reads the file even if it is unchanged', t => {
  const { applied, watching } = watched(t)
  watching.reload()
  assert.equal(applied.length, 1)
})

test('no change is applied after stop', async t => {
  const { path, applied, watching } = watched(t)
  watching.stop()
  const other = watched(t)
  writeFileSync(path, models('b'))
  writeFileSync(other.path, models('c'))
  await eventually(() => other.names()?.includes('c'))
  assert.equal(applied.length, 0)
})

test('F1: an emptied file keeps the previous configuration and is logged', async t => {
  const { path, applied, lines, names } = watched(t)
  for (const text of ['', '# model_list: later\n']) {
    const before = lines.length
    writeFileSync(path, text)
    await eventually(() => lines.length > before)
    assert.deepEqual(lines.at(-1), {
      level: 'error',
      fields: { problems: [`${path} is empty`] },
      text: 'invalid configuration; keeping the previous one',
    })
  }
  assert.equal(applied.length, 0)
  writeFileSync(path, models('b'))
  await eventually(() => names()?.includes('b'))
})

test('settings that need a restart stay in force, and all others are those of the configuration that was read last', () => {
  const env = { GATEWAY_MASTER_KEY: 'sk-a-key-of-good-length' }
  const path = join(folder, `${++files}.yaml`)
  const read = (limits: object) => {
    writeFileSync(path, JSON.stringify({ limits }))
    return loadConfig({
      env: { ...env, PORT: `${4000 + Object.keys(limits).length}` },
      overrides: { configFile: path },
    })
  }
  const atStart = read({ max_sessions: 7 })
  const last = read({ max_sessions: 8, max_streams: 9 })
  const { port, limits, sources } = inForce(atStart, last)
  assert.deepEqual([port, limits.maxSessions, limits.maxStreams], [4001, 7, 9])
  assert.equal(sources, last.sources)
})
