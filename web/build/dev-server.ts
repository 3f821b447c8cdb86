import type { Plugin, ServerOptions } from 'vite'

/** Address of the running service that the development server stands in front of. */
const service = process.env['SWITCHYARD_URL'] ?? 'http://127.0.0.1:4000'

/** Everything that is not a file of the console goes to the service, which accepts writes of its own pages only. */
export const devServer: ServerOptions = {
  // A build of the service beside it must not reload the page.
  watch: { ignored: ['**/.cache/**', '**/dist/**'] },
  proxy: {
    '^/(?!console|@|src/|node_modules/|$)': {
      target: service,
      changeOrigin: true,
      configure: proxy =>
        proxy.on('proxyReq', request => {
          if (request.getHeader('origin') !== undefined) request.setHeader('origin', service)
        }),
    },
  },
}

/** Serves the overview at `/`, as the service does. */
export function overviewAtRoot(): Plugin {
  return {
    name: 'overview-at-root',
    configureServer({ middlewares }) {
      middlewares.use((request, _response, next) => {
        if (request.url === '/') request.url = '/console/'
        next()
      })
    },
  }
}
