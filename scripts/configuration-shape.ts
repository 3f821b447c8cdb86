import { registerHooks } from 'node:module'
import type { Shape } from '../src/server/config/yaml-shape.ts'
import { type SettingText, settings } from './reference-settings.ts'

/** Returns the shape of the configuration file. The hook exports it from its module, which keeps it private. */
export async function fileShape(): Promise<Shape> {
  const module = new URL('../src/server/config/file.ts?reference', import.meta.url).href
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return url === module ? { ...loaded, source: `${String(loaded.source)}\nexport { fileShape }\n` } : loaded
    },
  })
  const { fileShape: shape } = (await import(module)) as { readonly fileShape: Shape }
  hooks.deregister()
  return shape
}

/** Returns meaning and default of the setting at `path`. */
export function textOf(path: string): SettingText {
  const text = settings[path]
  if (text === undefined) throw new Error(`describe ${path} in scripts/reference-settings.ts`)
  return text
}

/** Returns a text of the reference without the syntax of links and code. */
export const plain = (markdown: string): string =>
  markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
