// Starts the development server of the web console in front of a running service: `npm run console`. It finds the service as
// commands do: SWITCHYARD_URL or URL, else the one that runs on the data folder, else port 4000. Arguments are those of Vite.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { dataDirOf } from '../src/server/config/data-dir.ts'
import { webFolder } from '../src/server/console/build-list.ts'
import { findRunning } from '../src/server/running.ts'
import { install } from './install.mjs'

const { env } = process
const service = await serviceOrigin()
if (await isReachable(service)) startVite()
else {
  process.stderr.write(`no service at ${service}; start one with npm start, or set SWITCHYARD_URL\n`)
  process.exitCode = 1
}

async function serviceOrigin(): Promise<string> {
  const given = env['SWITCHYARD_URL'] || env['URL']
  const [running] = given ? [] : await findRunning(dataDirOf({ env, overrides: {} }))
  // The service compares origins exactly, and an origin has no path.
  return new URL(given || running?.url || `http://127.0.0.1:${env['PORT'] || 4000}`).origin
}

function isReachable(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )
}

function startVite(): void {
  install(webFolder)
  const vite = join(webFolder, 'node_modules', 'vite', 'bin', 'vite.js')
  const options = { cwd: webFolder, env: { ...env, SWITCHYARD_URL: service }, stdio: 'inherit' } as const
  const child = spawn(process.execPath, [vite, ...process.argv.slice(2)], options)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', code => {
    process.exitCode = code ?? 1
  })
}
