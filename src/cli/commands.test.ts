import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { runLine } from '../../test/support/service/command-line.ts'
import { allCommands, programOf } from './program.ts'

const program = programOf({
  world: { stdout: { write: () => {} }, stderr: { write: () => {} } } as never,
  doing: () => async () => {},
})
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
const commands = allCommands(program).filter(command => !command.name().startsWith('__'))
const destroyers = ['rm', 'remove', 'revoke', 'disconnect', 'forget']

test('there are commands', () => assert.ok(commands.length > 100))

for (const command of commands) {
  const path = pathOf(command)

  test(`${path} has a summary, an example, and a description of each argument and option`, async () => {
    assert.notEqual(command.description(), '')
    for (const argument of command.registeredArguments) assert.notEqual(argument.description, '', argument.name())
    for (const option of command.options) assert.notEqual(option.description, '', option.flags)
    const { code, stdout, stderr } = await runLine([...path.split(' ').slice(1), '--help'])
    assert.deepEqual([code, stderr], [0, ''])
    const [, examples = ''] = stdout.split('\nExamples:\n')
    assert.match(examples, /^ {2}\$ .+/)
    assert.ok(examples.includes(path) || path === 'switchyard', `an example of ${path}`)
    for (const option of ['--url', '--key', '--json']) assert.ok(stdout.includes(option), option)
  })

  if (destroyers.includes(command.name())) {
    test(`${path} asks for a confirmation`, () => {
      assert.ok(command.options.some(({ long }) => long === '--yes'))
    })
  }

  for (const [name, other] of [
    ['ls', 'list'],
    ['rm', 'remove'],
  ] as const) {
    if ([name, other].some(word => command.name() === word)) {
      test(`${path} is also ${command.name() === name ? other : name}`, () => {
        const names = [command.name(), ...command.aliases()]
        assert.ok(names.includes(name) && names.includes(other))
      })
    }
  }
}
