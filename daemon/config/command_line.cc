// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/command_line.h"

#include "daemon/config/options.h"
#include "daemon/config/suggest.h"
#include "daemon/config/value.h"

#include <CLI/CLI.hpp>

#include <string_view>

namespace gind {

namespace {

// Names the nearest flag when an unknown one was given.
Error unknown_argument(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    const std::string_view name = argument.substr(0, argument.find('='));
    const bool known = std::find(views.begin(), views.end(), name) != views.end();
    if (!name.starts_with("--") || known) continue;
    return {ginInvalidArgument, std::string(name) + ": unknown option" +
                                    did_you_mean(nearest(name, views)) +
                                    "; gind --help lists them"};
  }
  const std::vector<std::string> rest = app.remaining();
  return {ginInvalidArgument,
          (rest.empty() ? "" : "\"" + rest.front() + "\": ") +
              std::string("unexpected argument; gind --help lists the options")};
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) try {
  CommandLine out;
  CLI::App app("gind: GPU-Initiated Networking daemon", "gind");
  app.set_help_flag("-h,--help", "Show this help");
  app.add_option("--config", out.config_file,
                 "Configuration file instead of /etc/gind/gind.toml; conf.d/*.toml beside it are "
                 "read after it")
      ->type_name("FILE");
  app.add_flag("--check-config", out.check_config, "Check the configuration and end");
  app.add_flag("--print-config", out.print_config,
               "Print each value in effect and where it came from, as TOML, and end");
  app.add_flag("--version", out.version, "Print the version and end");
  std::vector<std::string> sets;
  app.add_option("--set", sets, "Set one option, such as --set proxy.threads=2; repeatable")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  std::vector<std::string> values(options().size());
  for (const Option& option : options()) {
    if (option.flag.empty()) continue;
    app.add_option(std::string(option.flag), values[option_index(option)],
                   "Same as --set " + std::string(option.key) + "=...; " + expected_value(option))
        ->type_name("VALUE");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out.help = true;
    out.help_text = app.help();
    return out;
  } catch (const CLI::ExtrasError&) {
    return unknown_argument(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return Error{ginInvalidArgument, std::string(error.what()) + "; gind --help lists the options"};
  }
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ginInvalidArgument,
                   "--set " + set + ": expected KEY=VALUE, such as --set proxy.threads=2"};
    }
    out.settings.push_back({set.substr(0, equals), set.substr(equals + 1), "--set"});
  }
  for (const Option& option : options()) {
    const std::string flag(option.flag);
    if (flag.empty() || app.count(flag) == 0) continue;
    for (const CommandLine::Setting& set : out.settings) {
      if (set.key != option.key) continue;
      return Error{ginInvalidArgument,
                   set.key + ": given by " + flag + " and by --set; give it once"};
    }
    out.settings.push_back({std::string(option.key), values[option_index(option)], flag});
  }
  return out;
} catch (const std::exception& error) {
  return Error{ginInternalError, std::string("command line: ") + error.what()};
}

}  // namespace gind
