#pragma once /* all of it is there already: headwater_hip.h */
