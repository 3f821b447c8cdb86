import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { approvalRoutes } from '../../contract/approvals.ts'
import type { Input } from '../../contract/route.ts'
import { routeSchema } from '../http/bind.ts'
import { fastifyPath } from '../http/paths.ts'
import { pageHeaders } from '../http/public-page.ts'
import { AppError } from '../platform/errors.ts'
import { answeredPage, invalidPage, requestPage } from './approval-page.ts'
import type { ApprovalLinks } from './waits/approval-links.ts'
import type { Approvals } from './waits/approvals.ts'

interface Deps {
  readonly approvals: Pick<Approvals, 'decideIn'>
  readonly links: Pick<ApprovalLinks, 'open'>
  /** Counts a failed attempt; false once the address has made too many. */
  readonly logins: { admits(address: string): boolean }
}

type Linked = Pick<Input<typeof approvalRoutes.page>, 'params' | 'query'>

/** Serves the signed links of approvals. Bound by hand: they return pages, and the form of a page is not JSON. */
export function serveApprovalLinks(app: FastifyInstance, { approvals, links, logins }: Deps): void {
  const opened = ({ params, query }: Linked) => links.open(params.approval_id, query.token ?? '')
  const send = (reply: FastifyReply, html: string, status = 200) =>
    reply.code(status).headers(pageHeaders).type('text/html; charset=utf-8').serializer(String).send(html)
  const reject = (request: FastifyRequest, reply: FastifyReply) => {
    if (logins.admits(app.addressOf(request.raw) ?? '')) return send(reply, invalidPage, 404)
    throw new AppError('rate_limited', 'too many invalid links from this address; retry after 60 s', {
      headers: { 'retry-after': '60' },
    })
  }

  void app.register(async scope => {
    const form = 'application/x-www-form-urlencoded'
    scope.addContentTypeParser(form, { parseAs: 'string' }, async (_request: FastifyRequest, text: string) => {
      const fields = Object.fromEntries(new URLSearchParams(text))
      return fields['message'] === '' ? { result: fields['result'] } : fields
    })
    scope.route({
      method: 'GET',
      url: fastifyPath(approvalRoutes.page),
      config: { route: approvalRoutes.page },
      schema: routeSchema(approvalRoutes.page),
      handler: async (request, reply) => {
        const approval = await opened(request as Linked)
        return approval ? send(reply, requestPage(approval)) : reject(request, reply)
      },
    })
    scope.route({
      method: 'POST',
      url: fastifyPath(approvalRoutes.answer),
      config: { route: approvalRoutes.answer },
      schema: routeSchema(approvalRoutes.answer),
      bodyLimit: approvalRoutes.answer.bodyLimit,
      handler: async (request, reply) => {
        // Fastify validated it against the schema of the route.
        const { result, message } = request.body as Input<typeof approvalRoutes.answer>['body']
        const approval = await opened(request as Linked)
        if (!approval) return reject(request, reply)
        const { id, session_id, runtime, digest } = approval
        const answered = await approvals
          .decideIn({ id: session_id, runtime }, { id, result, message, digest }, 'link')
          .catch(undefinedIfDecided)
        return answered ? send(reply, answeredPage(answered)) : reject(request, reply)
      },
    })
  })
}

/** Another answer was first: the link is then like any used one. */
function undefinedIfDecided(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'conflict') return undefined
  throw error
}
