import type {
  AnthropicSkill,
  AnthropicSkillVersion,
  OpenAiSkill,
  OpenAiSkillVersion,
} from '../../../contract/skill-folders.ts'
import type { SkillHead, SkillVersion } from './version-store.ts'

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

export const anthropicSkill = (head: SkillHead): AnthropicSkill => ({
  id: head.id,
  type: 'skill',
  display_name: head.display_name,
  display_title: head.display_name,
  latest_version_id: head.default_version_id,
  latest_version: String(head.default_version),
  source: { type: 'custom' },
  created_at: head.created_at.toISOString(),
  updated_at: head.updated_at.toISOString(),
})

export const anthropicVersion = (version: SkillVersion): AnthropicSkillVersion => ({
  id: version.id,
  type: 'skill_version',
  skill_id: version.skill_id,
  name: version.name,
  description: version.description ?? '',
  version: String(version.number),
  directory: version.name,
  created_at: version.created_at.toISOString(),
})

export const openAiSkill = (head: SkillHead): OpenAiSkill => ({
  id: head.id,
  object: 'skill',
  name: head.name,
  description: head.description ?? '',
  default_version: String(head.default_version),
  latest_version: String(head.latest_version),
  created_at: seconds(head.created_at),
})

export const openAiVersion = (version: SkillVersion): OpenAiSkillVersion => ({
  id: version.id,
  object: 'skill.version',
  skill_id: version.skill_id,
  name: version.name,
  description: version.description ?? '',
  version: String(version.number),
  created_at: seconds(version.created_at),
})
