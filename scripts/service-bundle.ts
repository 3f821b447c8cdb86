import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { removeDeadFolders } from './dead-folders.ts'

const root = join(import.meta.dirname, '..')
/** Below the packages, so that what is imported while the service runs is found. */
const cache = join(root, 'node_modules', '.cache')
const prefix = 'service-'

/** Files of ours find their neighbours (migrations, tables, threads) where the source is. */
const sourcePlaces: Plugin = {
  name: 'source-places',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      return { contents, loader: 'ts' }
    })
  },
}

/** Packages of hundreds of ECMAScript modules. Compiled into the program, they save a quarter of the CPU time of a start. */
const bundled = /^(typebox|kysely)(\/|$)/

const bundledPackages: Plugin = {
  name: 'bundled-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || bundled.test(path) ? undefined : { path, external: true },
    )
  },
}

/**
 * Runs `work` with the variables that let tests start a compiled service. The program is compiled into a few
 * files, because a start from some 900 separate modules computes twice as long. The code is the same.
 */
export async function withServiceBundle<T>(work: (variables: Record<string, string>) => Promise<T>): Promise<T> {
  mkdirSync(cache, { recursive: true })
  removeDeadFolders(cache, prefix)
  const folder = mkdtempSync(join(cache, `${prefix}${process.pid}-`))
  try {
    await bundleInto(folder)
    return await work({ SWITCHYARD_TEST_PROGRAM: join(folder, 'main.mjs') })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function bundleInto(folder: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'src', 'cli', 'main.ts')],
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'error',
    outExtension: { '.js': '.mjs' },
    plugins: [bundledPackages, sourcePlaces],
  })
}
