import { text } from 'node:stream/consumers'
import { Bash, InMemoryFs, MountableFs, ReadWriteFs } from 'just-bash'
import { workspaceRoot } from './sandbox.ts'

const parentPollMs = 500

// Separate program, started by the virtual driver with the workspace folder and the id of the server's process as
// arguments and the command on standard input.
const [folder = '', parent = ''] = process.argv.slice(2)
// A command must not outlive a server that was killed.
setInterval(() => {
  if (process.ppid !== Number(parent)) process.exit(1)
}, parentPollMs).unref()
const files = new MountableFs({ base: new InMemoryFs() })
files.mount(workspaceRoot, new ReadWriteFs({ root: folder }))
const shell = new Bash({ fs: files, cwd: workspaceRoot, env: { HOME: workspaceRoot, USER: 'agent', TMPDIR: '/tmp' } })
const result = await shell.exec('mkdir -p /tmp; '.concat(await text(process.stdin)), { rawScript: true })
process.exitCode = result.exitCode
process.stdout.write(result.stdout)
process.stdout.write(result.stderr)
