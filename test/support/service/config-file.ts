import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Config, Environment, Overrides } from '../../../src/server/config/config.ts'
import { ConfigError, loadConfig } from '../../../src/server/config/load.ts'

interface Given {
  /** The text of a configuration file; none unless given. */
  readonly yaml?: string
  readonly env?: Environment
  readonly overrides?: Overrides
}

/** Reads configurations from a folder that goes with the test file. */
export function configReader() {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-config-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'config.yaml')

  const load = ({ yaml, env = {}, overrides = {} }: Given): Config => {
    if (yaml !== undefined) writeFileSync(file, yaml)
    return loadConfig({ env, overrides: { ...overrides, ...(yaml !== undefined && { configFile: file }) } })
  }
  return {
    folder,
    load,
    /** The problems, one a line, without the file's path. */
    problemsOf(given: Given): string[] {
      try {
        load(given)
      } catch (error) {
        assert.ok(error instanceof ConfigError)
        return error.message.split('\n').map(line => line.replace(`${file}:`, ''))
      }
      return []
    },
  }
}
