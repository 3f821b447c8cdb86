import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { textWidth } from '../../src/cli/text-width.ts'
import { eventually } from '../support/service/eventually.ts'
import { compileCache, programFile } from '../support/service/program.ts'
import { startService } from '../support/service/service.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = await mkdtemp(join(tmpdir(), 'switchyard-command-line-'))
await chmod(folder, 0o711)
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const service = await startService()
const env = {
  PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}`,
  HOME: folder,
  NODE_COMPILE_CACHE: compileCache,
  SWITCHYARD_URL: service.url,
  SWITCHYARD_KEY: service.key,
}
await symlink(join(root, 'bin', 'switchyard'), join(folder, 'switchyard'))

interface Given {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** Runs a program to its end. */
async function run(command: readonly string[], { env: more, stdin = '' }: Given = {}) {
  const [file = '', ...args] = command
  const child = spawn(file, args, { cwd: folder, env: { ...env, ...more }, stdio: 'pipe' })
  child.stdin.on('error', () => {}).end(stdin)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

const switchyard = (args: readonly string[], given?: Given) => run([process.execPath, programFile, ...args], given)

/** Runs a command line that must succeed; returns its output. */
async function output(args: readonly string[], given?: Given): Promise<string> {
  const { code, stdout, stderr } = await switchyard(args, given)
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout.trimEnd()
}

const agent = await output(['agents', 'create', 'Ada', '--owner', 'team', '--system', 'You review code.'])
await output(['agents', 'create', '日本語のとても長い名前のエージェントです', '--owner', 'team'])
await output(['agents', 'create', 'סוכן עם שם ארוך מאוד שאינו נכנס', '--owner', 'team'])
await output(['run', 'List the files', '--agent', 'Ada'])
const session = JSON.parse(await output(['sessions', 'ls', '--json'])).data[0].id as string

test('agents are created, changed, rolled back, cloned and deleted by name', async () => {
  await output(['agents', 'edit', 'Ada', '--system', 'You write code.', '--note', 'new task'])
  assert.match(await output(['agents', 'versions', 'Ada']), /^2 .*new task$/m)
  assert.match(await output(['agents', 'diff', 'Ada', '1']), /You review code/)
  await output(['agents', 'rollback', 'Ada', '1'])
  assert.equal(JSON.parse(await output(['agents', 'show', 'Ada', '--json'])).system, 'You review code.')
  const copy = await output(['agents', 'clone', 'Ada', '--name', 'Eve'])
  assert.match(await output(['agents', 'show', 'Eve']), new RegExp(`^id +${copy}$`, 'm'))
  assert.equal((await switchyard(['agents', 'rm', 'Eve'])).code, 2)
  await output(['agents', 'rm', 'Eve', '--yes'])
  assert.equal((await switchyard(['agents', 'show', copy])).code, 5)
})

test('a schedule is created, shown with its next runs, paused, run and deleted', async () => {
  const create = ['schedules', 'create', 'nightly', '--agent', 'Ada', '--cron', '0 3 * * *', '--prompt', 'Triage']
  const id = await output(create)
  assert.match(await output(['schedules', 'show', 'nightly']), /next_runs +\d{4}-\d\d-\d\d 03:00 UTC/)
  assert.match(await output(['schedules', 'pause', id.slice(-8)]), /is paused/)
  assert.match(await output(['schedules', 'run', 'nightly']), /queued run/)
  await output(['schedules', 'remove', 'nightly', '--yes'])
  const wrong = await switchyard([...create.slice(0, -4), '--cron', '0 3 * *', '--prompt', 'x'])
  assert.deepEqual([wrong.code, /--cron/.test(wrong.stderr)], [2, true])
})

test('a user is created, changed, given a key, disabled, enabled and deleted by name', async () => {
  const id = await output(['users', 'create', 'Nightly build', '--kind', 'service_account'])
  const key = await output(['keys', 'create', '--label', 'build', '--user', 'Nightly build'])
  await output(['users', 'edit', 'Nightly build', '--role', 'viewer'])
  assert.equal(JSON.parse(await output(['users', 'show', id.slice(-8), '--json'])).role, 'viewer')
  assert.match(await output(['users', 'ls', '--kind', 'service_account']), new RegExp(`^${id} +active +viewer `, 'm'))
  assert.match(await output(['users', 'disable', 'Nightly build']), /is disabled/)
  await eventually(async () => (await switchyard(['agents', 'ls', '--key', key])).code === 4)
  assert.match(await output(['users', 'enable', 'Nightly build']), /is active/)
  await eventually(async () => (await switchyard(['agents', 'ls', '--key', key])).code === 0)
  assert.equal((await switchyard(['users', 'rm', 'Nightly build'])).code, 2)
  await output(['users', 'rm', 'Nightly build', '--yes'])
  assert.equal((await switchyard(['users', 'show', id])).code, 5)
})

test('a team is created, limited, joined, left and deleted by name', async () => {
  const user = await output(['users', 'create', 'Grace Hopper', '--email', 'grace@acme.example'])
  const id = await output(['teams', 'create', 'Data', '--model', 'demo', 'openai/*', '--group', 'data'])
  await output(['teams', 'edit', 'Data', '--model', 'demo'])
  assert.deepEqual(JSON.parse(await output(['teams', 'show', 'Data', '--json'])).models, ['demo'])
  await output(['teams', 'add-member', 'Data', 'Grace Hopper'])
  assert.match(await output(['teams', 'members', 'Data']), new RegExp(`^${user} +active +member `, 'm'))
  assert.match(await output(['users', 'ls', '--team', 'Data']), /Grace Hopper/)
  assert.match(await output(['budgets', 'set', 'team', id, '--budget', '20']), /\$20/)
  const key = ['keys', 'create', '--user', 'Grace Hopper', '--team', 'Data', '--json']
  assert.equal(JSON.parse(await output(key)).team_id, id)
  await output(['teams', 'remove-member', 'Data', 'Grace Hopper'])
  assert.match(await output(['teams', 'members', 'Data']), /No members/)
  assert.equal((await switchyard(['teams', 'rm', 'Data'])).code, 2)
  await output(['teams', 'remove', 'Data', '--yes'])
  assert.match(await output(['teams', 'ls']), /No teams/)
})

test('a secret is stored from standard input and never shown', async () => {
  await output(['vault', 'set', 'TOKEN', '--scope', 'global'], { stdin: 'canary-secret\n' })
  const shown = [await output(['vault', 'ls']), await output(['vault', 'show', 'TOKEN', '--json'])].join('\n')
  assert.match(shown, /TOKEN/)
  assert.doesNotMatch(shown, /canary/)
  await output(['vault', 'rm', 'TOKEN', '--yes'])
})

test('the webhook of an agent is set and tested, and a test that fails has exit code 1', async () => {
  await output(['vault', 'set', 'HOOK'], { stdin: 'a-secret-of-the-sender' })
  await output(['webhooks', 'set', 'Ada', '--secret-key', 'HOOK', '--event', 'opened'])
  const check = ['webhooks', 'test', 'Ada', '--payload', '{"a": 1}']
  assert.match(await output(check), /passed +token/)
  await output(['vault', 'rm', 'HOOK', '--yes'])
  assert.equal((await switchyard(check)).code, 1)
})

test('a budget is set, raised exactly and removed', async () => {
  await output(['budgets', 'set', 'owner', 'team', '--budget', '0.1', '--per', '30d', '--rpm', '60'])
  await output(['budgets', 'raise', 'owner', 'team', '--by', '0.2'])
  const { max_budget, rpm_limit } = JSON.parse(await output(['budgets', 'show', 'owner', 'team', '--json']))
  assert.deepEqual([max_budget, rpm_limit], [0.3, 60])
  await output(['budgets', 'rm', 'owner', 'team', '--yes'])
})

test('files of a session are written, listed, read and deleted; an existing file is not replaced', async () => {
  const bytes = Buffer.from([0, 1, 2, 250, 251, 255])
  await writeFile(join(folder, 'data.bin'), bytes)
  await output(['sessions', 'files', 'put', session, 'data.bin', 'in/data.bin'])
  assert.match(await output(['sessions', 'files', 'ls', session, 'in']), /data\.bin/)
  await output(['sessions', 'files', 'get', session, 'in/data.bin', 'copy.bin'])
  assert.deepEqual(await readFile(join(folder, 'copy.bin')), bytes)
  assert.equal((await switchyard(['sessions', 'files', 'get', session, 'in/data.bin', 'copy.bin'])).code, 2)
  const { encoding } = JSON.parse(await output(['sessions', 'files', 'cat', session, 'in/data.bin', '--json']))
  assert.equal(encoding, 'base64')
  await output(['sessions', 'files', 'rm', session, 'in/data.bin', '--yes'])
})

test('a session is forked, exported as JSON lines and deleted', async () => {
  const fork = await output(['sessions', 'fork', session, '--title', 'Second try'])
  const lines = (await output(['sessions', 'export', 'Second try'])).split('\n').map(line => JSON.parse(line))
  assert.deepEqual([lines[0].type, lines[0].session.id, lines[1].seq], ['switchyard.session', fork, 1])
  await output(['sessions', 'rm', fork, '--yes'])
})

test('status is one screen, logs are one call a line, config masks secrets', async () => {
  const status = await output(['status'])
  assert.match(status, /^service +ready$/m)
  assert.ok(status.split('\n').length <= 24)
  const calls = (await output(['logs', '--json'])).split('\n').map(line => JSON.parse(line))
  assert.ok(calls.every(({ model }) => model === 'demo'))
  const config = await output(['config', 'show'])
  assert.match(config, /^SETTING +SOURCE +VALUE$/m)
  assert.ok(!config.includes(service.key))
})

test('the audit log is filtered and printed as CSV', async () => {
  const csv = await output(['audit', 'ls', '--action', 'agent.*', '--csv'])
  assert.match(csv, /^created_at,id,principal/)
  assert.ok(csv.includes(agent))
})

const tables = [
  ['agents', 'ls'],
  ['sessions', 'ls'],
  ['audit', 'ls'],
  ['agents', 'versions', 'Ada'],
  ['status'],
  ['logs'],
]

for (const width of [80, 50]) {
  for (const args of tables) {
    test(`${args.join(' ')} fits ${width} columns with whole ids and without colors`, async () => {
      const printed = await output(args, { env: { COLUMNS: String(width) } })
      for (const line of printed.split('\n')) assert.ok(textWidth(line) <= width, line)
      assert.ok(!printed.includes('\u001b'))
      assert.doesNotMatch(printed, /(agent|ses)_[0-9a-f]{1,31}(…|$)/m)
    })
  }
}

test('a terminal has colors, and none with NO_COLOR', async () => {
  const typed = `${process.execPath} ${programFile} agents ls`
  const colored = await run(['script', '-qec', typed, '/dev/null'], { env: { TERM: 'xterm' } })
  assert.ok(colored.stdout.includes('\u001b[2m'))
  const plain = await run(['script', '-qec', typed, '/dev/null'], { env: { TERM: 'xterm', NO_COLOR: '1' } })
  assert.ok(!plain.stdout.includes('\u001b'))
})

/** Completes the words in bash; the last one is unfinished. */
async function completed(...words: string[]): Promise<string[]> {
  const script = `source <(switchyard completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_switchyard
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { code, stdout, stderr } = await run(['bash', '-c', script, 'bash', 'switchyard', ...words])
  assert.equal(code, 0, stderr)
  return stdout.split('\n').filter(line => line !== '')
}

test('bash completes commands, options, choices and names', async () => {
  assert.deepEqual(await completed('sched'), ['schedules'])
  assert.ok((await completed('sessions', 'files', '')).includes('put'))
  assert.deepEqual(await completed('agents', 'create', 'x', '--owne'), ['--owner'])
  assert.deepEqual(await completed('sessions', 'ls', '--status', 'r'), ['running'])
  assert.deepEqual(await completed('agents', 'show', 'A'), ['Ada'])
  assert.ok((await completed('sessions', 'show', 'ses_')).includes(session))
  assert.deepEqual(await completed('schedules', 'create', 'x', '--agent', 'A'), ['Ada'])
})

test('completion is silent when the service does not answer', async () => {
  const offline = { env: { SWITCHYARD_URL: 'http://127.0.0.1:9' } }
  assert.equal(await output(['__complete', '--', 'agents', 'show', ''], offline), '')
})
