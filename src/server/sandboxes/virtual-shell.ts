import { text } from 'node:stream/consumers'
import { Bash, InMemoryFs, MountableFs, ReadWriteFs } from 'just-bash'
import { workspaceRoot } from './sandbox.ts'

// Separate program, started by the virtual driver with the workspace folder as argument and the command on standard
// input.
const [folder = ''] = process.argv.slice(2)
const files = new MountableFs({ base: new InMemoryFs() })
files.mount(workspaceRoot, new ReadWriteFs({ root: folder }))
const shell = new Bash({ fs: files, cwd: workspaceRoot, env: { HOME: workspaceRoot, USER: 'agent', TMPDIR: '/tmp' } })
const result = await shell.exec('mkdir -p /tmp; '.concat(await text(process.stdin)), { rawScript: true })
process.exitCode = result.exitCode
process.stdout.write(result.stdout)
process.stdout.write(result.stderr)
