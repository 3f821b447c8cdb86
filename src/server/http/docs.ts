import { type FastifyInstance, fastify } from 'fastify'
import { systemRoutes } from '../../contract/system.ts'
import { fastifyPath } from './paths.ts'

interface ReferencePage {
  readonly html: string
  readonly script: string
}

/** Forbids external addresses: the page must work offline and must not send data elsewhere. */
const contentPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Serves `/docs`. The large library of the page is loaded on first use. */
export function serveDocs(app: FastifyInstance): void {
  let loading: Promise<ReferencePage> | undefined
  const page = () => {
    loading ??= loadReferencePage()
    return loading
  }

  app.route({
    method: 'GET',
    url: fastifyPath(systemRoutes.docs),
    exposeHeadRoute: true,
    config: { route: systemRoutes.docs },
    handler: async (_request, reply) =>
      reply
        .headers({
          'content-security-policy': contentPolicy,
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        })
        .type('text/html; charset=utf-8')
        .send((await page()).html),
  })
  app.route({
    method: 'GET',
    url: fastifyPath(systemRoutes.docsScript),
    exposeHeadRoute: true,
    config: { route: systemRoutes.docsScript },
    handler: async (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=3600')
        .type('text/javascript; charset=utf-8')
        .send((await page()).script),
  })
}

/** Renders the page with the library's Fastify plugin, on a server that does not listen. */
async function loadReferencePage(): Promise<ReferencePage> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const inner = fastify()
  await inner.register(reference, {
    routePrefix: '/docs',
    configuration: {
      url: systemRoutes.openapi.path,
      cdn: systemRoutes.docsScript.path,
      pageTitle: 'Switchyard API',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  const [html, script] = await Promise.all([inner.inject('/docs/'), inner.inject('/docs/js/scalar.js')])
  await inner.close()
  // Without an icon browsers request /favicon.ico, which does not exist.
  return { html: html.body.replace('</head>', '<link rel="icon" href="data:," /></head>'), script: script.body }
}
