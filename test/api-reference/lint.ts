// Checks the OpenAPI document with Redocly and Spectral: no error and no warning. A step of `npm run check`.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApiDocument } from '../../src/server/http/openapi/document.ts'

const here = import.meta.dirname
execFileSync(process.execPath, [join(here, '..', '..', 'scripts', 'install.mjs'), here], { stdio: 'inherit' })

const folder = mkdtempSync(join(tmpdir(), 'switchyard-openapi-'))
try {
  const file = join(folder, 'openapi.json')
  const document = openApiDocument()
  writeFileSync(file, JSON.stringify(document, null, 2))
  const operations = Object.values(document['paths'] as Record<string, object>).flatMap(Object.keys).length
  const isClean = [
    passes('redocly', [
      'lint',
      file,
      '--config',
      join(here, 'redocly.yaml'),
      '--format',
      'stylish',
      '--max-problems',
      '200',
    ]),
    passes('spectral', ['lint', file, '--ruleset', join(here, 'spectral.yaml'), '--fail-severity', 'hint']),
  ].every(Boolean)
  console.log(`${operations} operations examined`)
  if (!isClean) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}

/** Runs a tool of this folder and prints what it found. Redocly counts warnings as passed: its rules are all errors here. */
function passes(tool: string, args: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(here, 'node_modules', '.bin', tool), ...args], {
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  })
  process.stdout.write(stdout)
  if (status !== 0) process.stderr.write(stderr)
  console.log(`${tool}: ${status === 0 ? 'no problems' : `exit code ${status}`}`)
  return status === 0
}
