// Runs a script of ours on Node 24, with the modules of the lockfile. Plain JavaScript, because it must run on Node 18.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from './install.mjs'
import { needsOfService, needsOfTools } from './packages.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The Node 24 of the modules; else the one that runs us, when it is new enough. */
function nodeBinary() {
  const bundled = bundledNode()
  if (bundled) return bundled
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  process.stderr.write(
    `Node.js ${process.versions.node} is too old, and there is no Node.js 24 to install for ${process.platform} on ` +
      `${process.arch}.\nInstall Node.js 24 or newer, then start again.\n`,
  )
  process.exit(1)
}

/** The binary is looked up like an import: npm may have placed it above this package. */
function bundledNode() {
  try {
    const name = `node-${process.platform}-${process.arch}`
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node')
  } catch {
    return undefined
  }
}

/**
 * Room for young objects: a quarter of what Node takes, which is what frees the bodies of calls soon enough. Decision 0011.
 * And a signal must not open a debugger, which reads every key.
 */
const flags = ['--max-semi-space-size=8', '--disable-sigusr1']

/** Compiled code is kept between starts, which halves what a start computes. A caller's own folder stays. */
const environment = () => ({ NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'), ...process.env })

/** Installs what is missing, runs `script` (a path from the root of the package) and ends with its exit code. */
export function launch(script, args) {
  install(root, /^(src|service)\//.test(script) ? needsOfService() : needsOfTools())
  const command = [...flags, join(root, script), ...args]
  const child = spawn(nodeBinary(), command, { stdio: 'inherit', env: environment() })
  // A terminal sends Ctrl-C to the program as well: passed on from here it would count twice, and the second one kills.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}
