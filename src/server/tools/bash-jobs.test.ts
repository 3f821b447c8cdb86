import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { lack } from '../../../test/support/service/lack.ts'
import { ByteGate } from '../platform/byte-gate.ts'
import { countRunning, isRunning, quiet, sandboxesForTests } from '../sandboxes/sandboxes-for-tests.ts'
import { createJobs, defaultJobLimits } from './jobs.ts'
import { defaultToolLimits, type ToolContext, toolMemoryBytes } from './tool.ts'
import { servicesForTests } from './tools-for-tests.ts'
import { builtinTools } from './toolset.ts'

const waitMs = 60_000
const limits = { ...defaultJobLimits, maxOfRun: 2, maxEnded: 2 }
const jobsOf = createJobs(limits)
let sessions = 0

/** A command that runs for days and can be found among the processes. */
const longSleep = () => `sleep ${randomInt(200_000, 900_000)}`

for (const driver of ['bubblewrap', 'virtual'] as const) {
  if (driver === 'bubblewrap' && lack(driver)) continue
  const sandboxes = await sandboxesForTests(driver)

  const setUp = async (id = `ses_${++sessions}`) => {
    const stop = new AbortController()
    const jobs = jobsOf(stop.signal)
    const sandbox = await sandboxes.open(id)
    const context: ToolContext = {
      sandbox,
      signal: stop.signal,
      limits: defaultToolLimits,
      memory: new ByteGate(toolMemoryBytes),
      log: quiet,
      ...servicesForTests({ jobs }),
    }
    const call = async (name: string, input: unknown, changes: Partial<ToolContext> = {}) => {
      const tool = builtinTools.find(builtin => builtin.name === name)
      assert(tool)
      const { content, is_error } = await tool.run(input, { ...context, ...changes })
      return { text: content.map(({ text }) => text).join(''), isError: is_error }
    }
    const start = async (command: string, more: object = {}) => {
      const { text } = await call('bash', { command, run_in_background: true, ...more })
      const id = /^\{"job_id":"(job_[0-9a-f]{8})"\}\n\[running in the background; it ends with this run/.exec(text)?.[1]
      assert(id, text)
      return id
    }
    return { call, start, jobs, stop, sandbox, id, folder: join(sandboxes.workspacesDir, id) }
  }

  test(`${driver}: a job runs beside other calls, and its output is read once`, async () => {
    const { call, start, jobs } = await setUp()
    const job_id = await start('while [ ! -e go ]; do sleep 0.1; done; echo done; exit 3')
    assert.match((await call('bash_output', { job_id })).text, /^\(no new output\)\n\[job_\w+: running for \d+ s\]$/)
    await call('bash', { command: 'echo x > go' })
    const { text, isError } = await call('bash_output', { job_id, wait_ms: waitMs })
    assert.match(text, /^done\n\[job_\w+: exited with exit code 3 after \d+ s\]$/)
    assert.equal(isError, false)
    assert.match((await call('bash_output', { job_id })).text, /^\(no new output\)\n\[job_\w+: exited/)
    assert.match((await call('bash_kill', { job_id })).text, /had already exited with exit code 3/)
    await jobs.end()
  })

  test(`${driver}: bash_kill stops a job, and its timeout does`, async () => {
    const { call, start, jobs } = await setUp()
    const command = longSleep()
    const job_id = await start(command)
    assert.match((await call('bash_kill', { job_id })).text, /\[job_\w+: stopped after \d+ s\]$/)
    assert.equal(await isRunning(command), false)
    const limited = await start(longSleep(), { timeout_ms: 100 })
    const { text } = await call('bash_output', { job_id: limited, wait_ms: waitMs })
    assert.match(text, /stopped: timeout reached after/)
    await jobs.end()
  })

  test(`${driver}: the number of running jobs is bounded, and of ended ones that can be read`, async () => {
    const { call, start, jobs } = await setUp()
    const first = await start(longSleep())
    const second = await start(longSleep())
    const { text, isError } = await call('bash', { command: 'true', run_in_background: true })
    assert.match(text, /^2 background jobs are running, the limit; stop one with bash_kill$/)
    assert(isError)
    await call('bash_kill', { job_id: second })
    for (let number = 0; number < 2; number++) {
      await call('bash_output', { job_id: await start('true'), wait_ms: waitMs })
    }
    assert.match((await call('bash_output', { job_id: second })).text, /is not a job of this run/)
    assert.match((await call('bash_output', { job_id: first })).text, /running for/)
    await jobs.end()
  })

  test(`${driver}: the end of a run stops its jobs, and the next run finds the output that was not read`, async () => {
    const { call, start, jobs, id, sandbox, folder } = await setUp()
    const command = longSleep()
    const waiting = await start(command)
    const unread = await start('echo left over; echo x > written')
    await eventually(async () => (await sandbox.files.list('.', { skip: new Set() })).paths.includes('written'))
    // The virtual shell writes its output at its end.
    if (driver === 'virtual') await eventually(async () => (await countRunning(folder)) === 1)
    await jobs.end()
    assert.equal(await isRunning(command), false)
    assert.match((await call('bash', { command: 'true', run_in_background: true })).text, /the run is over/)
    const next = await setUp(id)
    const gone = await next.call('bash_output', { job_id: waiting })
    assert.match(gone.text, /the end of a run, an interrupt, a wait for a person and a crash stop its jobs/)
    assert(gone.isError)
    const file = `.outputs/${unread}.txt`
    assert((await next.call('bash_output', { job_id: unread })).text.endsWith(`not read is in ${file}`))
    assert.match((await next.call('read', { file_path: file })).text, /left over/)
  })

  test(`${driver}: an interrupt stops the jobs of a run, and a call that waits for one`, async () => {
    const { call, start, jobs, stop } = await setUp()
    const command = longSleep()
    const job_id = await start(command)
    const waiting = call('bash_output', { job_id, wait_ms: 600_000 })
    stop.abort()
    assert.deepEqual(await waiting, { text: 'cancelled', isError: true })
    await jobs.end()
    assert.equal(await isRunning(command), false)
  })

  test(`${driver}: invalid input of the job tools names the field`, async () => {
    const { call } = await setUp()
    assert.match((await call('bash_output', {})).text, /bash_output: input must have required properties job_id/)
    assert.match((await call('bash_kill', { job_id: '../x' })).text, /job_id must match pattern/)
    assert.match((await call('bash_output', { job_id: 'job_00000000', wait_ms: 1e9 })).text, /wait_ms must be <=/)
    assert.match((await call('bash', { run_in_background: true })).text, /command is required/)
  })
}

if (!lack('bubblewrap')) {
  const sandboxes = await sandboxesForTests('bubblewrap')
  const run = async (command: string) => {
    const jobs = jobsOf(new AbortController().signal)
    const id = jobs.start({ command, sandbox: await sandboxes.open(`ses_${++sessions}`), timeoutMs: undefined })
    return { id, jobs }
  }

  test('a job that writes 10 GB is stopped, and its output stays within its limit', async () => {
    const { id, jobs } = await run('head -c 10G /dev/zero | tr "\\0" x')
    const report = await jobs.read(id, 4 * waitMs, new AbortController().signal)
    assert(report?.end && 'outcome' in report.end)
    assert.equal(report.end.outcome, 'output_limit')
    assert(report.output.length <= limits.unreadBytes + 100)
    await jobs.end()
  })

  test('a fork bomb in a job leaves no process after bash_kill', async () => {
    const marker = longSleep()
    const { id, jobs } = await run(`echo up; bomb() { bomb | bomb & }; bomb; ${marker}`)
    const signal = new AbortController().signal
    await eventually(async () => ((await jobs.read(id, 100, signal))?.output ?? '') !== '')
    await jobs.kill(id)
    assert.equal(await isRunning(marker), false)
    assert.equal((await (await sandboxes.open('ses_after')).exec({ command: 'echo fine' })).output, 'fine\n')
    await jobs.end()
  })
}
