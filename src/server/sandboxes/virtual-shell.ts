import { createInterface } from 'node:readline'
import { getHeapStatistics } from 'node:v8'
import { Bash, InMemoryFs, MountableFs, ReadWriteFs } from 'just-bash'
import { workspaceRoot } from './sandbox.ts'

const parentPollMs = 500
/** A process that has more on its heap after a command runs no other one. */
const reusableHeapBytes = 128 * 1024 * 1024

// Separate program, started by the virtual driver with the workspace folder and the id of the server's process as
// arguments. Each line of standard input is a command, `{"command"}`, one at a time. Each answer is a line
// `{"exitCode", "bytes", "isReusable"}` and so many bytes of output.
const [folder = '', parent = ''] = process.argv.slice(2)
// A command must not outlive a server that was killed.
setInterval(() => {
  if (process.ppid !== Number(parent)) process.exit(1)
}, parentPollMs).unref()

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))

lines.on('line', async line => {
  const { command } = JSON.parse(line) as { readonly command: string }
  const { exitCode, output } = await run(command)
  // What a command left running would outlive its call; the pipes are those of the process itself.
  const isQuiet = process.getActiveResourcesInfo().every(resource => resource === 'PipeWrap')
  const isReusable = isQuiet && getHeapStatistics().used_heap_size < reusableHeapBytes
  process.stdout.write(`${JSON.stringify({ exitCode, bytes: output.length, isReusable })}\n`)
  process.stdout.write(output)
})

async function run(command: string) {
  const files = new MountableFs({ base: new InMemoryFs() })
  files.mount(workspaceRoot, new ReadWriteFs({ root: folder }))
  const shell = new Bash({ fs: files, cwd: workspaceRoot, env: { HOME: workspaceRoot, USER: 'agent', TMPDIR: '/tmp' } })
  const { exitCode, stdout, stderr } = await shell.exec(`mkdir -p /tmp; ${command}`, { rawScript: true })
  return { exitCode, output: Buffer.from(stdout + stderr) }
}
