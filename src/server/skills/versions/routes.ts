import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Input, Route } from '../../../contract/route.ts'
import { skillFolderRoutes } from '../../../contract/skill-folders.ts'
import { actorOf, bind } from '../../http/bind.ts'
import { idempotencyOf } from '../../http/idempotency.ts'
import { ignoredHeader, ignoredValue } from '../../http/ignored-fields.ts'
import { pageOf } from '../../http/page.ts'
import { fastifyPath } from '../../http/paths.ts'
import { vendorOf } from '../../http/vendor.ts'
import { invalid, invalidCursor } from '../../platform/errors.ts'
import type { Skills } from '../skills.ts'
import { anthropicSkill, anthropicVersion, openAiSkill, openAiVersion } from './skill-shapes.ts'
import { receiveSkill } from './skill-upload.ts'
import type { SkillArchive, SkillVersions } from './versions.ts'

interface Deps {
  readonly versions: SkillVersions
  readonly skills: Pick<Skills, 'remove'>
}

type Headers = FastifyRequest['headers']
type Query = Input<typeof skillFolderRoutes.list>['query']

const isAnthropic = (headers: Headers): boolean => vendorOf(headers) === 'anthropic'
const skillFor = (headers: Headers) => (isAnthropic(headers) ? anthropicSkill : openAiSkill)
const versionFor = (headers: Headers) => (isAnthropic(headers) ? anthropicVersion : openAiVersion)

/** Serves the library in the formats of both vendors. Uploads and downloads are binary, so they are bound by hand. */
export function serveSkillFolders(app: FastifyInstance, { versions, skills }: Deps): void {
  const routes = skillFolderRoutes
  bind(app, routes.list, async ({ query }, caller, { raw: { headers } }) => {
    if (!isAnthropic(headers)) {
      const { limit, after, order } = openAiPage(query)
      return openAiList(await versions.list(caller, { after, order, limit: limit + 1 }), limit, openAiSkill)
    }
    const page = anthropicPage(query)
    if (query.source !== undefined && query.source !== 'custom') return anthropicList([], null)
    const load = ({ after, limit }: Loading) => versions.list(caller, { after, limit, order: 'desc' })
    const { items, next_cursor } = await pageOf(page, load, ({ id }) => id)
    return anthropicList(items.map(anthropicSkill), next_cursor)
  })
  bind(app, routes.get, async ({ params }, caller, { raw }) =>
    skillFor(raw.headers)(await versions.get(params.skill_id, caller)),
  )
  bind(app, routes.update, async ({ params, body }, caller, { raw, actor }) => {
    if (isAnthropic(raw.headers))
      throw invalid('default_version is set in OpenAI’s format: omit anthropic-version and anthropic-beta')
    return openAiSkill(await versions.setDefault(params.skill_id, body.default_version, { caller, actor }))
  })
  bind(app, routes.remove, async ({ params: { skill_id: id } }, caller, { raw, actor }) => {
    await skills.remove(id, { caller, actor })
    return isAnthropic(raw.headers)
      ? { id, type: 'skill_deleted' as const }
      : { id, object: 'skill.deleted' as const, deleted: true as const }
  })
  bind(app, routes.versions, async ({ params: { skill_id: id }, query }, caller, { raw: { headers } }) => {
    if (!isAnthropic(headers)) {
      const { limit, after: ref, order } = openAiPage(query)
      const after = ref === undefined ? undefined : (await versions.version(id, ref, caller)).number
      return openAiList(await versions.versions(id, caller, { after, order, limit: limit + 1 }), limit, openAiVersion)
    }
    const load = ({ after, limit }: Loading) =>
      versions.versions(id, caller, { after: numberIn(after), limit, order: 'desc' })
    const { items, next_cursor } = await pageOf(anthropicPage(query), load, ({ number }) => String(number))
    return anthropicList(items.map(anthropicVersion), next_cursor)
  })
  bind(app, routes.version, async ({ params }, caller, { raw }) =>
    versionFor(raw.headers)(await versions.version(params.skill_id, params.version, caller)),
  )
  bind(app, routes.removeVersion, async ({ params }, caller, { raw, actor }) => {
    const { id, number } = await versions.removeVersion(params.skill_id, params.version, { caller, actor })
    return isAnthropic(raw.headers)
      ? { id, type: 'skill_version_deleted' as const }
      : { id, object: 'skill.version.deleted' as const, deleted: true as const, version: String(number) }
  })
  download(app, routes.content, async ({ params, caller }) => {
    const { skill_id: id } = params as Input<typeof routes.content>['params']
    const { default_version_id } = await versions.get(id, caller)
    return versions.archive(id, default_version_id, caller)
  })
  download(app, routes.versionContent, ({ params, caller }) => {
    const { skill_id: id, version } = params as Input<typeof routes.versionContent>['params']
    return versions.archive(id, version, caller)
  })
  // Only these routes accept a body of any content type, to read it while it arrives.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    serveUploads(scope, versions)
  })
}

interface Loading {
  readonly after: string | undefined
  readonly limit: number
}

function serveUploads(app: FastifyInstance, versions: SkillVersions): void {
  upload(app, skillFolderRoutes.create, async request => {
    const { headers } = request
    const sent = await receiveSkill(request.raw, { vendor: vendorOf(headers), kind: 'skill' })
    const by = uploadBy(request, skillFolderRoutes.create)
    return { answer: skillFor(headers)(await versions.create(sent.folder, sent.displayName, by)), ...sent }
  })
  upload(app, skillFolderRoutes.createVersion, async request => {
    const { headers, caller } = request
    const { skill_id: id } = request.params as Input<typeof skillFolderRoutes.createVersion>['params']
    await versions.get(id, caller)
    const sent = await receiveSkill(request.raw, { vendor: vendorOf(headers), kind: 'version' })
    const ofAnthropic = isAnthropic(headers)
    const how = { folder: sent.folder, isDefault: ofAnthropic || sent.isDefault, keepsName: ofAnthropic }
    const by = uploadBy(request, skillFolderRoutes.createVersion)
    return { answer: versionFor(headers)(await versions.addVersion(id, how, by)), ...sent }
  })
}

const uploadBy = (request: FastifyRequest, route: Route) => ({
  caller: request.caller,
  actor: actorOf(request),
  idempotency: idempotencyOf(request, route, request.caller),
})

type Upload = (request: FastifyRequest) => Promise<{ readonly answer: object; readonly ignored: readonly string[] }>

function upload(app: FastifyInstance, route: Route, receive: Upload): void {
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    ...(route.params && { schema: { params: route.params } }),
    ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
    async handler(request, reply) {
      const end = request.server.slowBodies.allow(request.raw)
      try {
        const { answer, ignored } = await receive(request)
        const value = ignoredValue(ignored.map(name => ({ name })))
        if (value !== undefined) reply.header(ignoredHeader, value)
        return answer
      } finally {
        end()
      }
    },
  })
}

type Archive = (request: FastifyRequest) => Promise<SkillArchive>

function download(app: FastifyInstance, route: Route, find: Archive): void {
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    exposeHeadRoute: false,
    schema: { params: route.params },
    async handler(request, reply) {
      const { filename, content } = await find(request)
      return reply
        .type('application/octet-stream')
        .headers({
          'content-disposition': `attachment; filename="${filename}"`,
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
        })
        .send(content)
    },
  })
}

function openAiPage({ limit = defaultLimit, after, order = 'desc', page, source }: Query) {
  if (page !== undefined || source !== undefined)
    throw invalid('page and source need a header anthropic-version; use after, limit and order')
  return { limit, after, order }
}

function anthropicPage({ limit = defaultLimit, page, after, order }: Query) {
  if (after !== undefined || order !== undefined)
    throw invalid('after and order are parameters of OpenAI’s format; use page')
  return { limit, ...(page !== undefined && { cursor: page }) }
}

const defaultLimit = 20

function openAiList<R extends { readonly id: string }, T>(rows: readonly R[], limit: number, shaped: (row: R) => T) {
  const page = rows.slice(0, limit)
  const ends = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null }
  return { object: 'list' as const, data: page.map(shaped), has_more: rows.length > limit, ...ends }
}

const anthropicList = <T>(data: T[], next_page: string | null) => ({ data, has_more: next_page !== null, next_page })

/** Positions of a cursor that is not ours have no number. */
function numberIn(after: string | undefined): number | undefined {
  if (after !== undefined && !/^[1-9][0-9]{0,8}$/.test(after)) throw invalidCursor()
  return after === undefined ? undefined : Number(after)
}
