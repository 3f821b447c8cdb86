import { Argument, type Command, InvalidArgumentError } from 'commander'
import { destroying, yesOption } from './confirm.ts'
import { agentFinder, memoryFinder } from './finders.ts'
import { addMemory, listMemories, removeMemory } from './memories.ts'
import { NameArgument } from './names.ts'
import { someText, wholeNumber } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
  readonly search?: string
  readonly tag?: string
}

interface AddOptions {
  readonly tag?: readonly string[]
  readonly type?: string
  readonly priority?: number
}

const agentId = () => new NameArgument('<agent>', 'id or name of the agent', agentFinder)

/** Adds `memories`. */
export function addMemoryCommands(program: Command, registry: Registry): void {
  const { doing } = registry
  const memories = program.command('memories').description('memories of agents, kept across sessions')
  const list = memories
    .command('ls')
    .alias('list')
    .description('list the memories of an agent, highest priority first')
    .addArgument(agentId())
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')
    .option('--search <text>', 'only memories whose text contains this, case-insensitive')
    .option('--tag <tag>', 'only memories with exactly this tag')
    .action(
      doing<ListOptions>(({ client, out }, { limit, cursor, search, tag }, [agent = '']) =>
        listMemories(client, { agentId: agent, limit, cursor, search, tag }, out),
      ),
    )
  const add = memories
    .command('add')
    .description('add a memory and print its id')
    .addArgument(agentId())
    .addArgument(new Argument('<text>', 'text of the memory').argParser(someText))
    .option('--tag <tag...>', 'up to 8 tags')
    .option('--type <label>', 'type, such as preference, fact or instruction')
    .option('--priority <n>', 'priority; the highest comes first', integer)
    .action(
      doing<AddOptions>(({ client, out }, { tag, type, priority }, [agent = '', text = '']) => {
        const fields = {
          text,
          ...(tag && { tags: [...tag] }),
          ...(type !== undefined && { type }),
          ...(priority !== undefined && { priority }),
        }
        return addMemory(client, { agentId: agent, fields }, out)
      }),
    )
  const remove = memories
    .command('rm')
    .description('delete a memory permanently')
    .addArgument(agentId())
    .addArgument(new NameArgument('<memory>', 'id of the memory', memoryFinder))
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([, id]) => `delete memory ${id}`,
        ({ client, out }, _, [agent = '', id = '']) => removeMemory(client, { agentId: agent, memoryId: id }, out),
      ),
    )
  withExamples(list, ['switchyard memories ls agent_0199', 'switchyard memories ls agent_0199 --search tabs --json'])
  withExamples(add, ['switchyard memories add agent_0199 "The user prefers tabs" --type preference --priority 10'])
  withExamples(remove, ['switchyard memories rm agent_0199 mem_0199 --yes'])
  withExamples(memories, ['switchyard memories ls agent_0199'])
}

function integer(text: string): number {
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (Math.abs(value) <= 2_147_483_647) return value
  throw new InvalidArgumentError('It must be an integer.')
}
