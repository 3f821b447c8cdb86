// Starts a program of ours on a fresh machine: installs the modules when they are missing or older than the lockfile,
// then runs the script on the Node 24 that came with them. Plain JavaScript, because it must run on Node 18.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isWindows = process.platform === 'win32'

const modifiedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

/** Installs `folder` from its lockfile unless its modules are newer than that. */
export function install(folder) {
  const lockfile = join(folder, 'package-lock.json')
  const installed = join(folder, 'node_modules', '.package-lock.json')
  if (modifiedAt(installed) >= modifiedAt(lockfile)) return
  process.stderr.write('Installing packages (once, about a minute) ...\n')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: isWindows,
    // `npm start` in a production shell must still get the Node 24 that is a dev dependency.
    env: { ...process.env, NODE_ENV: 'development' },
  })
  if (status !== 0) {
    process.stderr.write('\nnpm ci failed. Check the network and the messages above, then start again.\n')
    process.exit(1)
  }
}

/** The Node 24 of the modules; else the one that runs us, when it is new enough. */
function nodeBinary() {
  const bundled = join(root, 'node_modules', 'node', 'bin', isWindows ? 'node.exe' : 'node')
  if (existsSync(bundled)) return bundled
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  process.stderr.write(
    'Node 24 is missing: the package "node" has no binary (install scripts were off?).\n' +
      'Run "npm rebuild node", or start with a Node 24 of your own.\n',
  )
  process.exit(1)
}

function run([script, ...args]) {
  const child = spawn(nodeBinary(), [join(root, script), ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

install(root)
run(process.argv.slice(2))
