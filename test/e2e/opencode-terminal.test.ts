import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { clientProgram } from '../support/service/client-program.ts'
import { eventually } from '../support/service/eventually.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const run = promisify(execFile)
const opencode = await clientProgram('opencode')
const { service } = await startScriptedService({ script: () => ({ text: 'The tide turns at nine.' }) })
const folder = await mkdtemp(join(tmpdir(), 'switchyard-terminal-'))
const socket = join(folder, 'tmux')

/** A terminal of its own server, which ends with the file. */
const tmux = async (...args: readonly string[]): Promise<string> =>
  (await run('tmux', ['-S', socket, ...args], { env: { PATH: process.env['PATH'], HOME: opencode.home } })).stdout
after(async () => {
  await tmux('kill-server').catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
})

const isBuilt = process.platform === 'linux' && process.arch === 'x64'
const skip = !isBuilt && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'

test('DD2: opencode attach, in a terminal, sends what is typed and shows the answer', { skip }, async () => {
  const variables = {
    HOME: opencode.home,
    TERM: 'xterm-256color',
    OPENCODE_SERVER_PASSWORD: service.key,
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
  const set = Object.entries(variables).flatMap(([name, value]) => ['-e', `${name}=${value}`])
  const size = ['-x', '120', '-y', '40']
  await tmux(
    'new-session',
    '-d',
    '-s',
    'it',
    ...size,
    ...set,
    '-c',
    opencode.work,
    opencode.file,
    'attach',
    service.url,
  )
  const screen = () => tmux('capture-pane', '-p', '-t', 'it')
  let shown = ''
  const shows = (words: RegExp) => async () => {
    shown = await screen()
    return words.test(shown)
  }
  try {
    await eventually(shows(/scripted/i))
    await tmux('send-keys', '-t', 'it', '-l', 'When does the tide turn?')
    await eventually(shows(/When does the tide turn\?/))
    await tmux('send-keys', '-t', 'it', 'Enter')
    await eventually(shows(/The tide turns at nine\./))
  } catch (error) {
    throw new Error(`the terminal shows:\n${shown}\n${service.logs().slice(-3_000)}`, { cause: error })
  }
  // The request is logged once it is answered, which the screen may be ahead of.
  const isLogged = () => /"path":"\/session\/[^"]+\/(message|prompt_async)"/.test(service.logs())
  await eventually(isLogged, { what: 'the request in the log' })
})
