import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'
import { maxSkillNameLength } from './skills.ts'

/** Limits of one upload, unpacked. */
export const maxSkillFiles = 500
export const maxSkillFileBytes = 30_000_000
/** Of each file. */
export const maxFileInSkillBytes = 10 * 1024 * 1024

/** Skill of the library in Anthropic’s format. */
export const AnthropicSkill = named(
  'AnthropicSkill',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('skill'),
    display_name: Type.String({ description: 'Name in the library' }),
    display_title: Type.String({ description: 'The same, for older clients' }),
    latest_version_id: Type.String({ description: 'The default version, which `latest` selects' }),
    latest_version: Type.String({ description: 'Its number, for older clients' }),
    source: Type.Object({ type: Type.Literal('custom') }),
    created_at: DateTime,
    updated_at: DateTime,
  }),
)
export type AnthropicSkill = Static<typeof AnthropicSkill>

/** Version of a skill in Anthropic’s format. */
export const AnthropicSkillVersion = named(
  'AnthropicSkillVersion',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('skill_version'),
    skill_id: Type.String(),
    name: Type.String({ description: 'Name of the folder' }),
    description: Type.String(),
    version: Type.String({ description: 'Number, for older clients' }),
    directory: Type.String({ description: 'Name of the folder, for older clients' }),
    created_at: DateTime,
  }),
)
export type AnthropicSkillVersion = Static<typeof AnthropicSkillVersion>

/** Skill of the library in OpenAI’s format. */
export const OpenAiSkill = named(
  'OpenAISkill',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('skill'),
    name: Type.String({ description: 'Name of the folder of the default version' }),
    description: Type.String(),
    default_version: Type.String({ description: 'Number of the version that the library has' }),
    latest_version: Type.String({ description: 'Highest number of a version' }),
    created_at: Type.Integer({ description: 'Seconds since 1970' }),
  }),
)
export type OpenAiSkill = Static<typeof OpenAiSkill>

/** Version of a skill in OpenAI’s format. */
export const OpenAiSkillVersion = named(
  'OpenAISkillVersion',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('skill.version'),
    skill_id: Type.String(),
    name: Type.String({ description: 'Name of the folder' }),
    description: Type.String(),
    version: Type.String({ description: 'Number' }),
    created_at: Type.Integer({ description: 'Seconds since 1970' }),
  }),
)
export type OpenAiSkillVersion = Static<typeof OpenAiSkillVersion>

const anthropicPage = { has_more: Type.Boolean(), next_page: Nullable(Type.String()) }
const openAiPage = {
  object: Type.Literal('list'),
  has_more: Type.Boolean(),
  first_id: Nullable(Type.String()),
  last_id: Nullable(Type.String()),
}
const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  page: Type.Optional(
    Type.String({ maxLength: 200, description: 'Anthropic’s format: `next_page` of the previous page' }),
  ),
  after: Type.Optional(
    Type.String({ maxLength: 200, description: 'OpenAI’s format: what follows the one with this id' }),
  ),
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
      description: 'OpenAI’s format: oldest or newest first; `desc` by default',
    }),
  ),
}
const SkillPath = Type.Object({ skill_id: Type.String({ description: 'Id of the skill' }) })
const VersionPath = Type.Object({
  skill_id: Type.String({ description: 'Id of the skill' }),
  version: Type.String({ description: 'Number or id of the version' }),
})
const files = Type.Array(Type.String({ format: 'binary' }), {
  description: `Parts \`files[]\` named like \`my-skill/SKILL.md\`, all in one folder with a \`SKILL.md\`; or one zip archive of it. At most ${maxSkillFiles} files of 10 MiB each, 30 MB together`,
})
const base = { access: 'key', errorShape: 'by-header' } as const
const upload = { ...base, method: 'POST', consumes: 'multipart/form-data', bodyLimit: 32_000_000 } as const
const shapes =
  'A header `anthropic-version` or `anthropic-beta` selects Anthropic’s format, otherwise the answer has OpenAI’s.'

/** The skills library in the formats of both vendors: folders with a SKILL.md, and their versions. */
export const skillFolderRoutes = {
  create: route({
    ...upload,
    id: 'skill_folders.create',
    path: '/v1/skills',
    body: Type.Object({
      files,
      display_name: Type.Optional(
        Type.String({
          maxLength: maxSkillNameLength,
          description: 'Anthropic’s format: name in the library; the name in SKILL.md by default',
        }),
      ),
      display_title: Type.Optional(
        Type.String({ maxLength: maxSkillNameLength, description: 'The same, of older clients' }),
      ),
    }),
    responses: { 200: Type.Union([AnthropicSkill, OpenAiSkill]) },
    summary: 'Upload a skill',
    description: `Adds a folder with a \`SKILL.md\` to the skills library. Answers 400 with the name of a file that is not accepted; nothing is stored then. ${shapes}`,
  }),
  list: route({
    ...base,
    id: 'skill_folders.list',
    method: 'GET',
    path: '/v1/skills',
    query: Type.Object({
      ...pageQuery,
      source: Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'Anthropic’s format: skills of this source; all skills of this service are `custom`',
        }),
      ),
    }),
    responses: {
      200: Type.Union([
        Type.Object({ data: Type.Array(AnthropicSkill), ...anthropicPage }),
        Type.Object({ data: Type.Array(OpenAiSkill), ...openAiPage }),
      ]),
    },
    summary: 'List uploaded skills',
    description: `Lists the caller’s skills, newest first, also those without files. ${shapes}`,
  }),
  get: route({
    ...base,
    id: 'skill_folders.get',
    method: 'GET',
    path: '/v1/skills/{skill_id}',
    params: SkillPath,
    responses: { 200: Type.Union([AnthropicSkill, OpenAiSkill]) },
    summary: 'Get an uploaded skill',
    description: `Returns a skill without its content. ${shapes}`,
  }),
  update: route({
    ...base,
    id: 'skill_folders.update',
    method: 'POST',
    path: '/v1/skills/{skill_id}',
    params: SkillPath,
    body: Type.Object({ default_version: Type.String({ maxLength: 100, description: 'Number or id of a version' }) }),
    responses: { 200: OpenAiSkill },
    summary: 'Set the default version of a skill',
    description:
      'Makes a version the one that the library has. Agents keep their copy. Only in OpenAI’s format: with a header `anthropic-version` or `anthropic-beta` it answers 400.',
  }),
  remove: route({
    ...base,
    id: 'skill_folders.remove',
    method: 'DELETE',
    path: '/v1/skills/{skill_id}',
    params: SkillPath,
    responses: {
      200: Type.Union([
        Type.Object({ id: Type.String(), type: Type.Literal('skill_deleted') }),
        Type.Object({ id: Type.String(), object: Type.Literal('skill.deleted'), deleted: Type.Literal(true) }),
      ]),
    },
    summary: 'Delete an uploaded skill',
    description: `Deletes a skill with its versions. Agents keep their copy. ${shapes}`,
  }),
  content: route({
    ...base,
    id: 'skill_folders.content',
    method: 'GET',
    path: '/v1/skills/{skill_id}/content',
    params: SkillPath,
    responses: { 200: Type.Unknown({ description: 'A zip archive' }) },
    produces: 'application/octet-stream',
    summary: 'Download a skill',
    description: 'Returns the folder of the default version as a zip archive.',
  }),
  createVersion: route({
    ...upload,
    id: 'skill_folders.create_version',
    path: '/v1/skills/{skill_id}/versions',
    params: SkillPath,
    body: Type.Object({
      files,
      default: Type.Optional(
        Type.Boolean({ default: false, description: 'OpenAI’s format: makes it the default version' }),
      ),
    }),
    responses: { 200: Type.Union([AnthropicSkillVersion, OpenAiSkillVersion]) },
    summary: 'Upload a version of a skill',
    description: `Adds a version from a folder. In Anthropic’s format it becomes the default version, and its \`SKILL.md\` must have the same name as before. ${shapes}`,
  }),
  versions: route({
    ...base,
    id: 'skill_folders.versions',
    method: 'GET',
    path: '/v1/skills/{skill_id}/versions',
    params: SkillPath,
    query: Type.Object(pageQuery),
    responses: {
      200: Type.Union([
        Type.Object({ data: Type.Array(AnthropicSkillVersion), ...anthropicPage }),
        Type.Object({ data: Type.Array(OpenAiSkillVersion), ...openAiPage }),
      ]),
    },
    summary: 'List the versions of a skill',
    description: `Lists the versions, newest first. ${shapes}`,
  }),
  version: route({
    ...base,
    id: 'skill_folders.version',
    method: 'GET',
    path: '/v1/skills/{skill_id}/versions/{version}',
    params: VersionPath,
    responses: { 200: Type.Union([AnthropicSkillVersion, OpenAiSkillVersion]) },
    summary: 'Get a version of a skill',
    description: `Returns name and description of a version. ${shapes}`,
  }),
  removeVersion: route({
    ...base,
    id: 'skill_folders.remove_version',
    method: 'DELETE',
    path: '/v1/skills/{skill_id}/versions/{version}',
    params: VersionPath,
    responses: {
      200: Type.Union([
        Type.Object({ id: Type.String(), type: Type.Literal('skill_version_deleted') }),
        Type.Object({
          id: Type.String(),
          object: Type.Literal('skill.version.deleted'),
          deleted: Type.Literal(true),
          version: Type.String(),
        }),
      ]),
    },
    summary: 'Delete a version of a skill',
    description: `Deletes a version. When it was the default version, the newest other one becomes it. The only version answers 400. ${shapes}`,
  }),
  versionContent: route({
    ...base,
    id: 'skill_folders.version_content',
    method: 'GET',
    path: '/v1/skills/{skill_id}/versions/{version}/content',
    params: VersionPath,
    responses: { 200: Type.Unknown({ description: 'A zip archive' }) },
    produces: 'application/octet-stream',
    summary: 'Download a version of a skill',
    description: 'Returns the folder of a version as a zip archive. Without files it has a `SKILL.md` only.',
  }),
} as const
