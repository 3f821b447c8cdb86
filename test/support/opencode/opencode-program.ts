import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { bubblewrapDriver } from '../../../src/server/sandboxes/bubblewrap.ts'
import { sandboxLimits } from '../../../src/server/sandboxes/sandbox.ts'
import { clientProgram } from '../service/client-program.ts'

interface Options {
  /** Becomes `opencode.json` in its workspace. */
  readonly settings: object
  readonly password: string
}

/** True where `test/clients` has the real program. */
export const hasOpencode = process.platform === 'linux' && process.arch === 'x64'

/** Where its program is. */
export const opencodeFile = async (): Promise<string> => (await clientProgram('opencode')).file

/** True where programs can be isolated. */
export const isolates = (): Promise<boolean> =>
  bubblewrapDriver(sandboxLimits).then(
    () => true,
    () => false,
  )

/** The real `opencode serve` with its own folders; it ends after the last test of the file. */
export async function startOpencodeProgram(port: number, { settings, password }: Options): Promise<{ work: string }> {
  const { file, home, work } = await clientProgram('opencode')
  await writeFile(join(work, 'opencode.json'), JSON.stringify({ share: 'disabled', ...settings }))
  const child = spawn(file, ['serve', '--port', String(port), '--hostname', '127.0.0.1'], {
    cwd: work,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      // It does not always end on SIGTERM.
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    process.off('exit', end)
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`opencode ended with ${code} before it listened`)))
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('listening on')) resolve()
    })
  })
  return { work }
}
