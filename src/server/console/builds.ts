import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { type BuildList, type BuiltFile, type Encoding, encodings, listName, pageName } from './build-list.ts'

/** A file of the console in memory. */
export interface ConsoleFile {
  /** Value of `content-type`. */
  readonly type: string
  readonly digest: string
  readonly body: Buffer
  /** The same content in other encodings. */
  readonly encoded: ReadonlyMap<Encoding, Buffer>
}

/** The built console. All files stay in memory: a build has a few megabytes. */
export interface Builds {
  /** Returns the page of the newest build; undefined while there is none. */
  page(): Promise<string | undefined>
  /** Returns a file of the newest build, or of the one before, whose pages may still be open. */
  file(path: string): Promise<ConsoleFile | undefined>
}

interface Build {
  readonly page: string
  readonly files: ReadonlyMap<string, ConsoleFile>
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
}

/** Reads builds from `dist`. Notices a new build when a page is loaded, or a file that the build before does not have. */
export function createBuilds(dist: string): Builds {
  let newest: Build | undefined
  let previous: Build | undefined
  let stamp: string | undefined
  let reading: Promise<void> | undefined

  async function readNewer(): Promise<void> {
    const found = await stampOf(join(dist, listName))
    if (found === undefined || found === stamp) return
    const build = await readBuild(dist)
    // A build that is just being replaced is read again with the next page.
    if (!build) return
    previous = newest
    newest = build
    stamp = found
  }

  function refresh(): Promise<void> {
    reading ??= readNewer().finally(() => {
      reading = undefined
    })
    return reading
  }

  const loaded = (path: string) => newest?.files.get(path) ?? previous?.files.get(path)

  return {
    async page() {
      await refresh()
      return newest?.page
    },
    async file(path) {
      const found = loaded(path)
      if (found) return found
      await refresh()
      return loaded(path)
    },
  }
}

async function stampOf(file: string): Promise<string | undefined> {
  try {
    const { mtimeMs, ino } = await stat(file)
    return `${mtimeMs} ${ino}`
  } catch {
    return undefined
  }
}

/** Returns undefined for a build that is incomplete or mixed with another one. */
async function readBuild(dist: string): Promise<Build | undefined> {
  try {
    const { files } = JSON.parse(await readFile(join(dist, listName), 'utf8')) as BuildList
    const read = new Map<string, ConsoleFile>()
    // One after another, because each open file counts towards the limit of the process.
    for (const built of files) read.set(built.path, await readBuilt(dist, built))
    const page = read.get(pageName)
    const isComplete = files.every(({ path, digest }) => read.get(path)?.digest === digest)
    read.delete(pageName)
    return page && isComplete ? { page: page.body.toString(), files: read } : undefined
  } catch {
    return undefined
  }
}

async function readBuilt(dist: string, { path, encodings: names }: BuiltFile): Promise<ConsoleFile> {
  const file = join(dist, path)
  const encoded = new Map<Encoding, Buffer>()
  for (const name of names) encoded.set(name, await readFile(`${file}${encodings[name]}`))
  const body = await readFile(file)
  const digest = createHash('sha256').update(body).digest('base64url')
  return { type: types[extname(path)] ?? 'application/octet-stream', digest, body, encoded }
}
