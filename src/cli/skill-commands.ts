import { Argument, type Command } from 'commander'
import { skillRoutes } from '../contract/skills.ts'
import { agentFinder, skillFinder } from './finders.ts'
import { NameArgument } from './names.ts'
import { someText, wholeNumber } from './parse.ts'
import { addRouteCommand, type FieldArgument } from './resources/route-command.ts'
import { details, done } from './resources/show.ts'
import { attachSkill, detachSkill, importSkills, listSkills, upgradeSkill } from './skills.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
}

const which: FieldArgument = { field: 'skill_id', name: 'skill', text: 'id or name of the skill', finder: skillFinder }
const argument = (name: string, description: string) => new Argument(name, description).argParser(someText)

/** Adds `skills`. */
export function addSkillCommands(program: Command, registry: Registry): void {
  const { doing } = registry
  const skills = program.command('skills').description('instructions shared by agents')
  const list = skills
    .command('ls')
    .alias('list')
    .description('list the skills of the library, newest first')
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')
    .action(doing<ListOptions>(({ client, out }, { limit, cursor }) => listSkills(client, { limit, cursor }, out)))
  const imported = skills
    .command('import')
    .description('create skills from a folder with a SKILL.md, or from its subfolders')
    .addArgument(argument('<folder>', 'path of the folder'))
    .action(doing(({ client, out }, _, [folder = '']) => importSkills(client, { folder }, out)))
  const attach = skills
    .command('attach')
    .description('append a skill to the system prompt of an agent')
    .addArgument(new NameArgument('<agent>', 'id or name of the agent', agentFinder))
    .addArgument(new NameArgument('<skill>', 'id or name of the skill', skillFinder))
    .action(doing(({ client, out }, _, [agentId = '', skillId = '']) => attachSkill(client, { agentId, skillId }, out)))
  const detach = skills
    .command('detach')
    .description('remove one skill, or all, from the system prompt of an agent')
    .addArgument(new NameArgument('<agent>', 'id or name of the agent', agentFinder))
    .addArgument(new NameArgument('[skill]', 'id or name of the skill; default: all', skillFinder))
    .action(doing(({ client, out }, _, [agentId = '', skillId]) => detachSkill(client, { agentId, skillId }, out)))
  const upgrade = skills
    .command('upgrade')
    .description('update the copies of a skill in agents to the version of the library')
    .addArgument(new NameArgument('<skill>', 'id or name of the skill', skillFinder))
    .option('--dry-run', 'only print the changes')
    .option('--include-edited', 'also replace edited copies')
    .action(
      doing<{ dryRun?: boolean; includeEdited?: boolean }>(
        ({ client, out }, { dryRun = false, includeEdited = false }, [skillId = '']) =>
          upgradeSkill(client, { skillId, isDryRun: dryRun, withEdited: includeEdited }, out),
      ),
    )
  addRouteCommand(skills, registry, {
    name: 'show',
    route: skillRoutes.get,
    text: 'show a skill of the library',
    args: [which],
    show: details(),
    examples: ['switchyard skills show terse'],
  })
  addRouteCommand(skills, registry, {
    name: 'rm',
    route: skillRoutes.remove,
    text: 'delete a skill of the library; agents keep their copies',
    args: [which],
    destroys: ([id]) => `delete skill ${id}`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard skills rm terse --yes'],
  })
  withExamples(list, ['switchyard skills ls', 'switchyard skills ls --json'])
  withExamples(imported, ['switchyard skills import ./skills/terse', 'switchyard skills import ./skills'])
  withExamples(attach, ['switchyard skills attach agent_0199 skill_0199'])
  withExamples(detach, ['switchyard skills detach agent_0199 skill_0199', 'switchyard skills detach agent_0199'])
  withExamples(upgrade, ['switchyard skills upgrade skill_0199 --dry-run', 'switchyard skills upgrade skill_0199'])
  withExamples(skills, ['switchyard skills import ./skills/terse', 'switchyard skills ls'])
}
