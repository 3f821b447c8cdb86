import { Argument, type Command, InvalidArgumentError } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { someText } from '../parse.ts'
import { type Registry, withExamples } from '../world.ts'
import { plainPrompts, showCapabilities, testRuntime } from './command.ts'

interface TestOptions {
  readonly model?: string
  readonly prompt: string
  readonly textPrompt: string
  readonly toolPrompt: string
  readonly longPrompt: string
  readonly owner: string
  readonly timeout: number
  readonly only?: readonly string[]
  readonly capabilities?: boolean
}

const maxSeconds = 3_600

function seconds(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > maxSeconds) {
    throw new InvalidArgumentError(`It must be a whole number of seconds, 1 to ${maxSeconds}.`)
  }
  return value
}

const names = (text: string): string[] => text.split(',').map(name => name.trim())

/** Adds `runtimes test`. */
export function addTestCommand(runtimes: Command, { world, doing }: Registry): void {
  const test = runtimes
    .command('test')
    .description('run the conformance suite on a runtime; it makes sessions and agents, and model calls that cost')
    .addArgument(new Argument('[alias]', 'built-in id or alias').argParser(someText))
    .option('--model <name>', "the model of its prompts; the service's default unless given", someText)
    .option('--prompt <text>', 'answered by a few words', someText, plainPrompts.plain)
    .option('--text-prompt <text>', 'answered by two sentences or more', someText, plainPrompts.text)
    .option('--tool-prompt <text>', 'makes it call a tool', someText, plainPrompts.tool)
    .option('--long-prompt <text>', 'keeps it at work for a while', someText, plainPrompts.long)
    .option('--owner <id>', 'whose agents it makes; a key with an owner needs its own', someText, 'conformance')
    .option('--timeout <seconds>', 'how long one run may take', seconds, 120)
    .option('--only <ids>', 'some cases, with commas between them', names)
    .option('--capabilities', 'run nothing; print what the runtimes claim, as a table in Markdown')
    .action(
      doing<TestOptions>(({ client, out }, options, [id]) => {
        if (options.capabilities) return showCapabilities(client, { id }, out)
        if (id === undefined) throw new CommandFailed('name the runtime to be tested', exitCodes.usage)
        const { model, owner, timeout, only, prompt, textPrompt, toolPrompt, longPrompt } = options
        const prompts = { plain: prompt, text: textPrompt, tool: toolPrompt, long: longPrompt }
        const { nowMs, stop } = world
        return testRuntime(client, { id, model, prompts, owner, withinMs: timeout * 1_000, only, nowMs, stop }, out)
      }),
    )
  withExamples(test, [
    'switchyard runtimes test builtin --model demo',
    'switchyard runtimes test oc --only run,tools,interrupt --json',
    'switchyard runtimes test --capabilities',
  ])
}
