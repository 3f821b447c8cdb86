// Writes `service/`, the form of `src/` in the package: JavaScript, because Node.js strips no types below node_modules.
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const from = join(root, 'src')
// At the depth of `src`, so that paths to other folders stay the same.
const to = join(root, 'service')

const isTest = (path: string): boolean => path.endsWith('.test.ts')

/** Returns JavaScript whose imports and programs have the extension of compiled files. */
function compiled(source: string): string {
  return stripTypeScriptTypes(source)
    .replaceAll(/((?:from|import|import\()\s*')(\.{1,2}\/[^']+)\.ts'/g, "$1$2.js'")
    .replaceAll(/(new URL\('[^']+)\.ts', import\.meta\.url\)/g, "$1.js', import.meta.url)")
}

rmSync(to, { recursive: true, force: true })
for (const path of globSync('**/*.*', { cwd: from })) {
  if (isTest(path)) continue
  const target = join(to, path)
  mkdirSync(dirname(target), { recursive: true })
  if (!path.endsWith('.ts')) copyFileSync(join(from, path), target)
  else writeFileSync(target.replace(/\.ts$/, '.js'), compiled(readFileSync(join(from, path), 'utf8')))
}
